import { pause } from '../../../lab/patience.js';

/** The time of a worker: that of its process, or that of a simulation. */
export interface WorkerTime {
  /** A monotonic clock that all workers of a run share. */
  nowNs(): bigint;
  nowMs(): number;
  pause(ms: number): Promise<void>;
  /** Calls again and again, until the returned function is called. */
  every(ms: number, act: () => void): () => void;
  /** A signal that aborts with a `TimeoutError` after this time. */
  abortAfter(ms: number): AbortSignal;
}

export const realTime: WorkerTime = {
  nowNs: () => process.hrtime.bigint(),
  nowMs: () => Number(process.hrtime.bigint()) / 1e6,
  pause,
  every: (ms, act) => {
    const timer = setInterval(act, ms);
    return () => {
      clearInterval(timer);
    };
  },
  abortAfter: (ms) => AbortSignal.timeout(ms),
};
