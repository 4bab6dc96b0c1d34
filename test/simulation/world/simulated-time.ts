import { sleepUntil } from '../../../src/clock.js';
import type { Clock, Timer } from '../../../src/clock.js';
import type { WorkerTime } from '../../faults/workload/worker-time.js';

const NS_PER_MS = 1e6;

/** As for a timer of Node: a loop of shorter pauses would never let virtual time pass. */
const LEAST_PAUSE_MS = 1;

export const nsOf = (ms: number): string => String(Math.floor(ms * NS_PER_MS));

/** The time of a simulated process. While the process stands still, nothing of this fires. */
export const simulatedTime = (clock: Clock): WorkerTime => ({
  nowNs: () => BigInt(Math.floor(clock.nowMs() * NS_PER_MS)),
  nowMs: () => clock.nowMs(),
  pause: (ms) => sleepUntil(clock, clock.nowMs() + Math.max(ms, LEAST_PAUSE_MS)),
  every: (ms, act) => {
    let timer: Timer;
    const wait = (): void => {
      timer = clock.at(clock.nowMs() + ms, () => {
        wait();
        act();
      });
    };
    wait();
    return () => {
      timer.cancel();
    };
  },
  abortAfter: (ms) => {
    const controller = new AbortController();
    clock.at(clock.nowMs() + ms, () => {
      controller.abort(new DOMException('The time is over', 'TimeoutError'));
    });
    return controller.signal;
  },
});
