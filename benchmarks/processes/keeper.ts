// A process that keeps the seat of a mutex.
import type { Mutex } from '../../src/index.js';
import { sleep, timeOf } from '../measure.js';
import { connections, newProvider } from './connections.js';

/** The cost of acquiring a kept lock again and again. */
interface Again {
  /** The time of each acquire and release together. */
  readonly tookMs: readonly number[];
  /** The names of the commands that were sent meanwhile. */
  readonly commands: readonly string[];
}

/** Longer than any pause, so an idle keeper never gives up its seat by itself. */
const KEEP_MS = 60_000;

/** A grant reserves 256 tokens; after the last one, the process has to ask the server again. */
const ROUNDS = 200;

const MAX_TRIES = 100;

let kept: Mutex | undefined;

export const keeper = {
  /** Acquires a kept lock again and again. The provider is a new one, so the tokens of its first grant suffice. */
  async takeAgain(): Promise<Again> {
    const commands: string[] = [];
    const locks = newProvider({}, (name) => commands.push(name));
    const mutex = locks.createMutex('kept', { keepMs: KEEP_MS });
    const holdOnce = async (): Promise<unknown> => (await mutex.acquire()).release();
    await locks.ensureIndexes();
    // Until its stream is open, the process does not keep a seat.
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      commands.length = 0;
      await holdOnce();
      if (commands.length === 0) break;
      await sleep(50);
    }
    commands.length = 0;
    const tookMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) tookMs.push(await timeOf(holdOnce));
    const meanwhile = [...commands];
    await connections.close();
    return { tookMs, commands: meanwhile };
  },

  /** Acquires the lock and releases it, after which this process keeps the seat; how long the acquire took, in ms. */
  async takeKept(): Promise<number> {
    kept ??= newProvider().createMutex('kept', { keepMs: KEEP_MS });
    const startedMs = performance.now();
    const lock = await kept.acquire();
    const tookMs = performance.now() - startedMs;
    await lock.release();
    return tookMs;
  },

  /** Gives up the kept seat and its stream. */
  async letGo(): Promise<void> {
    kept = undefined;
    await connections.close();
  },
};
