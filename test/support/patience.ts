import { AcquireTimeoutError } from '../../src/index.js';

/** How long to wait for something that takes milliseconds when all is well, on a machine that is busy. */
export const BUSY_MACHINE_MS = 60_000;

/** What the promise settles with, if it does so in time. */
export async function within<T>(boundMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not within ${boundMs} ms: ${what}`));
    }, boundMs);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks until the condition gives something other than false, null or undefined, and returns that. */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  boundMs = BUSY_MACHINE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const endMs = performance.now() + boundMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) {
      return value as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > endMs) throw new Error(`not within ${boundMs} ms: ${what}`);
    await pause(10);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether the promise is still open after this long. */
export async function staysOpen(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = promise.then(
    () => false,
    () => false,
  );
  return await Promise.race([settled, pause(ms).then(() => true)]);
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

/** Whoever queued knows its place. */
const wasQueued = ({ place }: AcquireTimeoutError): boolean => place !== null;

/**
 * The timeout of a wait that the store had answered in time. One that ends sooner knows neither its place nor who is in
 * its way: then it is begun anew, with more time.
 */
export async function answeredTimeout(
  wait: (timeoutMs: number) => Promise<unknown>,
  wasAnswered: (error: AcquireTimeoutError) => boolean = wasQueued,
): Promise<AcquireTimeoutError> {
  for (let timeoutMs = 250; ; timeoutMs *= 4) {
    const error = await rejection(wait(timeoutMs));
    if (!(error instanceof AcquireTimeoutError)) throw error;
    if (wasAnswered(error) || timeoutMs > BUSY_MACHINE_MS) return error;
  }
}

/** For waits without a queue. */
export const toldOfHolders = ({ holders }: AcquireTimeoutError): boolean => holders.length > 0;

/** What the function throws. */
export function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}
