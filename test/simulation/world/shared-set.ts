import type { LockHandle } from '../../../src/index.js';
import type { ProtectedSet } from '../../faults/workload/sets.js';

/** A set that all processes share and that compares no tokens: the lock alone protects it. */
export class SharedSet implements ProtectedSet {
  readonly values: Map<string, readonly string[]> = new Map<string, readonly string[]>();

  async add(value: string, { name }: LockHandle, think: () => Promise<void>): Promise<'ok'> {
    const before = this.values.get(name) ?? [];
    await think();
    this.values.set(name, [...before, value]);
    return 'ok';
  }
}
