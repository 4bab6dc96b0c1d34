import { dashboard } from '../../../src/dashboard/index.js';
import type { DashboardHandler } from '../../../src/dashboard/index.js';
import { LockProvider } from '../../../src/index.js';
import type { LockProviderOptions } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { viewing } from './event-reader.js';
import type { EventReader } from './event-reader.js';

/** A dashboard on a replica set in memory, and the processes whose locks it shows. All of them end with the test. */
export class World {
  readonly set = new MemoryReplicaSet({ seed: 5 });
  readonly locks: LockProvider;
  readonly handler: DashboardHandler;
  readonly #providers: LockProvider[] = [];

  constructor(options?: LockProviderOptions) {
    whenTestEnds(async () => {
      await Promise.all(this.#providers.map((provider) => provider.close({ drainMs: 0 })));
      await this.set.close();
    });
    this.locks = this.process({ label: 'dashboard', ...options });
    this.handler = dashboard(this.locks);
  }

  process(options: LockProviderOptions): LockProvider {
    const locks = new LockProvider(this.set.db('app'), options);
    for (const event of ['storeError', 'lost'] as const) locks.on(event, () => undefined);
    this.#providers.push(locks);
    return locks;
  }

  async viewing(path?: string): Promise<EventReader> {
    const reader = untilTestEnds(await viewing(this.handler, path));
    await reader.until(
      'the first read is complete',
      ({ last }) => last?.state !== 'connecting' && last !== undefined,
    );
    return reader;
  }
}
