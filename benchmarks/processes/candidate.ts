// A candidate, which leads and hands its term over.
import type { LeaderElection } from '../../src/index.js';
import { monotonicMs, sleep } from '../measure.js';
import { newProvider } from './connections.js';

let election: LeaderElection | undefined;
let electedAtMs = 0;

export const candidate = {
  async stand(candidateId: string): Promise<void> {
    election = newProvider().createLeaderElection('benchmark', {
      candidateId,
      onElected: () => {
        electedAtMs = monotonicMs();
      },
    });
    await election.start();
  },

  /** Waits for `onElected`, and returns when it was called. */
  async elected(): Promise<number> {
    await election?.untilElected();
    return electedAtMs;
  },

  /** Returns the moment just before the call that handed over. */
  async handOver(to: string): Promise<number> {
    for (;;) {
      const startedMs = monotonicMs();
      if (await election?.handOverTo(to)) return startedMs;
      // The named candidate has just led, and is not back in the queue yet.
      await sleep(2);
    }
  },
};
