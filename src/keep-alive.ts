import { MAX_TIMER_MS } from './clock.js';

let awaitedCalls = 0;
let ticking: NodeJS.Timeout | undefined;

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
  awaitedCalls += 1;
  ticking ??= setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await promise;
  } finally {
    awaitedCalls -= 1;
    if (awaitedCalls === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  }
}
