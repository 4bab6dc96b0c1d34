import { MAX_TIMER_MS } from './clock.js';

/** How many calls of `keepAlive` await their promises, and the timer that keeps the process alive meanwhile. */
interface AwaitedCalls {
  count: number;
  ticking: NodeJS.Timeout | undefined;
}

const noCalls = (): AwaitedCalls => ({ count: 0, ticking: undefined });

/** `undefined` while every known clock has stopped for good: no timer fires, so no call keeps the process alive. */
let awaited: AwaitedCalls | undefined = noCalls();

/** How many of the clocks that `goBy` has made known have not stopped for good. */
let running = 0;
const known = new WeakSet<AbortSignal>();

/**
 * Keeps the process alive until the promise settles, and returns the result of the promise.
 *
 * Timers of the library do not keep a process alive, and a driver that cannot connect has no open handle. Without this
 * function, a process whose main function awaits a lock while the store is down would end with exit code 0. Neither the
 * lines after the call nor its `catch` would run.
 *
 * One timer serves all calls, so each further call costs only a counter. The timer has to be referenced; its length
 * does not matter.
 */
export async function keepAlive<T>(promise: Promise<T>): Promise<T> {
  const calls = awaited;
  if (calls === undefined) return await promise;
  calls.count += 1;
  calls.ticking ??= setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await promise;
  } finally {
    calls.count -= 1;
    if (calls.count === 0) letGo(calls);
  }
}

/**
 * Makes a clock known: the clock of the real process, or that of a simulation. When the last known clock has stopped
 * for good, no timer of the library fires any more, so the awaited calls stop keeping the process alive.
 *
 * `keepAlive` does not know the clock of a call, because that would need an argument in every call of `keepAlive`.
 *
 * @param over - Aborts when the clock stops for good. The signal of the real process never aborts.
 */
export function goBy(over: AbortSignal): void {
  if (over.aborted || known.has(over)) return;
  known.add(over);
  running += 1;
  awaited ??= noCalls();
  over.addEventListener('abort', onOver, { once: true });
}

function onOver(): void {
  running -= 1;
  if (running > 0 || awaited === undefined) return;
  letGo(awaited);
  awaited = undefined;
}

function letGo(calls: AwaitedCalls): void {
  clearInterval(calls.ticking);
  calls.ticking = undefined;
}
