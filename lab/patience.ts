import { inspect } from 'node:util';

/** The time by which tests wait: that of the process, or that of a simulation. */
export interface PassingTime {
  nowMs(): number;
  /** Calls `fire` after so long. The returned function prevents the call. */
  after(ms: number, fire: () => void): () => void;
}

const realTime: PassingTime = {
  nowMs: () => performance.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms);
    return () => {
      clearTimeout(timer);
    };
  },
};

let time = realTime;

/** From now on, everything here waits by this time. */
export function waitBy(other: PassingTime): void {
  time = other;
}

/** Milliseconds of a monotonic clock. */
export const nowMs = (): number => time.nowMs();

/** The same in nanoseconds. */
export const nowNs = (): bigint => BigInt(Math.floor(nowMs() * 1e6));

/** How long to wait for something that takes milliseconds when all is well, on a machine that is busy. */
export const BUSY_MACHINE_MS = 120_000;

/** What the promise settles with, if it does so in time. */
export async function within<T>(boundMs: number, what: string, promise: Promise<T>): Promise<T> {
  let cancel: (() => void) | undefined;
  const over = new Promise<never>((_, reject) => {
    cancel = time.after(boundMs, () => {
      reject(new Error(`not within ${boundMs} ms: ${what}`));
    });
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    cancel?.();
  }
}

/** Notes what a condition looks at, and returns it: a failure shows the last of it. */
export type See = <V>(value: V) => V;

/**
 * Looks every 10 ms, later every 25 ms, until the condition gives something other than false, null or undefined, and returns that. The error of one that
 * never does shows what it saw last, or else what it gave last and how it is written.
 */
export async function eventually<T>(
  what: string,
  condition: (see: See) => T | Promise<T>,
  boundMs = BUSY_MACHINE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const startMs = time.nowMs();
  let seen: string | undefined;
  const see: See = (value) => {
    seen = inspect(value, { depth: 6, breakLength: 110 });
    return value;
  };
  for (;;) {
    const value = await condition(see);
    if (value !== false && value !== null && value !== undefined) {
      return value as Exclude<T, false | null | undefined>;
    }
    const waitedMs = time.nowMs() - startMs;
    if (waitedMs > boundMs) {
      const last = seen ?? `${inspect(value)} of ${condition.toString()}`;
      throw new Error(`not within ${boundMs} ms: ${what}; last seen: ${last}`);
    }
    await pause(Math.min(Math.max(10, waitedMs / 20), 25));
  }
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    time.after(ms, resolve);
  });

/** Lets everything go on that waits for nothing but promises. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whether the promise is still open after this long. */
export async function staysOpen(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = promise.then(
    () => false,
    () => false,
  );
  return await Promise.race([ended, pause(ms).then(() => true)]);
}

/** A promise that is awaited later: until then its rejection is no unhandled one. */
export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** What the promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not reject');
}

/** What the function throws. */
export function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}
