import { MAX_TIMER_MS } from './clock.js';

/** The calls that keep the process alive, and the timer by which they do. */
interface AwaitedCalls {
  count: number;
  ticking: NodeJS.Timeout | undefined;
}

const noCalls = (): AwaitedCalls => ({ count: 0, ticking: undefined });

/** `undefined` while every time is over: no call can settle, so no call keeps the process alive. */
let awaited: AwaitedCalls | undefined = noCalls();

/** How many of the times that providers go by are not over. */
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
 * Makes known a time that calls go by. When the last known time is over, the awaited calls do not keep the process
 * alive any longer: their timers never fire.
 *
 * A call does not tell its time: that would be an argument of every call of `keepAlive`.
 *
 * @param over - Aborts when the time is over. The signal of real time never aborts.
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
