// A process that keeps the seat of a mutex, or the read seats of a reader-writer lock.
import type { LockHandle, LockProvider, Mutex } from '../../src/index.js';
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

const READS = 'kept reads';

let kept: Mutex | undefined;
let readers: readonly Reader[] = [];
let writer: LockProvider | undefined;

/** One provider that keeps a read, and the number of commands that it has sent. */
interface Reader {
  readonly locks: LockProvider;
  readonly sent: { count: number };
}

/** Acquires and releases until that sends nothing: until its stream is open, a process keeps no seat. */
async function untilKept(acquire: () => Promise<LockHandle>, countSent: () => number): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const before = countSent();
    await (await acquire()).release();
    if (countSent() === before) return;
    await sleep(50);
  }
}

export const keeper = {
  /** Acquires a kept lock again and again. The provider is a new one, so the tokens of its first grant suffice. */
  async takeAgain(what: 'mutex' | 'read'): Promise<Again> {
    const commands: string[] = [];
    const locks = newProvider({}, (name) => commands.push(name));
    const mutex = locks.createMutex('kept', { keepMs: KEEP_MS });
    const both = locks.createReaderWriterLock(READS, { keepMs: KEEP_MS });
    const acquire = (): Promise<LockHandle> => (what === 'mutex' ? mutex.acquire() : both.acquireRead());
    const holdOnce = async (): Promise<unknown> => (await acquire()).release();
    await locks.ensureIndexes();
    await untilKept(acquire, () => commands.length);
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

  /** This many providers of this process keep a read each, idle. */
  async keepReads(count: number): Promise<void> {
    if (readers.length === 0) readers = Array.from({ length: count }, newReader);
    await Promise.all(
      readers.map(({ locks, sent }) => {
        const lock = locks.createReaderWriterLock(READS, { keepMs: KEEP_MS });
        return untilKept(
          () => lock.acquireRead(),
          () => sent.count,
        );
      }),
    );
  },

  /** Acquires the write of the lock whose reads others keep; how long the acquire took, in ms. */
  async writeOnce(): Promise<number> {
    writer ??= newProvider();
    const startedMs = performance.now();
    const lock = await writer.createReaderWriterLock(READS).acquireWrite();
    const tookMs = performance.now() - startedMs;
    await lock.release();
    return tookMs;
  },

  /** Gives up the kept seats and their streams. */
  async letGo(): Promise<void> {
    kept = undefined;
    readers = [];
    writer = undefined;
    await connections.close();
  },
};

function newReader(): Reader {
  const sent = { count: 0 };
  const locks = newProvider({ createIndexes: false }, () => {
    sent.count += 1;
  });
  return { locks, sent };
}
