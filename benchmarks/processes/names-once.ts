// A process that locks many names once each, and never again.
import { getHeapCodeStatistics } from 'node:v8';
import type { LockProvider } from '../../src/index.js';
import { newProvider } from './connections.js';
import { heapBytes } from './heap.js';
import { newName } from './many-names.js';

/** What a process has left after it has locked and released names. */
export interface LeftOver {
  /** How long the last of these names took. */
  readonly tookMs: number;
  readonly heapBytes: number;
  /** The part of the heap that is code which V8 has compiled. */
  readonly codeBytes: number;
}

let locks: LockProvider | undefined;
const names: string[] = [];
let named = 0;

export const namesOnce = {
  /** Locks and releases this many names again and again, so many at once, until the code is compiled. */
  async warmUp(count: number, cycles: number, atOnce: number): Promise<void> {
    while (names.length < count) names.push(newName());
    let begun = 0;
    await inParallel(atOnce, () => (begun < cycles ? names[begun++ % count] : undefined));
    named = count;
    names.length = 0;
  },

  /** Goes on with new names until this process has locked this many in all. */
  async lockNewNames(count: number, atOnce: number): Promise<LeftOver> {
    const startedMs = performance.now();
    await inParallel(atOnce, () => {
      if (named >= count) return undefined;
      named += 1;
      return newName();
    });
    const tookMs = performance.now() - startedMs;
    const bytes = await heapBytes();
    const { code_and_metadata_size: code, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
    return { tookMs, heapBytes: bytes, codeBytes: code + bytecode };
  },
};

/** So many callers lock and release the next name, until there is none. */
async function inParallel(atOnce: number, next: () => string | undefined): Promise<void> {
  const provider = (locks ??= newProvider());
  const caller = async (): Promise<void> => {
    for (let name = next(); name !== undefined; name = next()) {
      await (await provider.acquireMutex(name)).release();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
}
