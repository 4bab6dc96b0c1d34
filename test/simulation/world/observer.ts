import type { Random } from '../../../lab/random.js';
import { ELECTION } from '../../faults/workload/candidate.js';
import { codeIn, complainUnlessTyped } from '../../faults/workload/error-codes.js';
import type { Stage } from '../../faults/workload/stage.js';

const [IDLE_MS, LEAST_MS, MOST_MS] = [400, 500, 6_000];

/** Observes the leaders of the election again and again, each time for a while, and writes down what it sees. */
export class Observer {
  readonly #stage: Stage;
  readonly #random: Random;
  #observations = 0;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  async act(): Promise<void> {
    while (!this.#stage.isStopping) {
      await this.#stage.time.pause(this.#random.between(0, IDLE_MS));
      await this.#observe(this.#random.between(LEAST_MS, MOST_MS));
    }
  }

  async #observe(forMs: number): Promise<void> {
    const { locks, journal, time } = this.#stage;
    const observation = (this.#observations += 1);
    const election = locks.createLeaderElection(ELECTION, { candidateId: 'an observer' });
    const sinceNs = String(time.nowNs());
    journal.write({ type: 'observing', observation, lock: ELECTION });
    try {
      for await (const leader of election.observe({ signal: time.abortAfter(forMs) })) {
        const named = leader === null ? {} : { candidateId: leader.candidateId };
        journal.write({ type: 'observed', observation, token: leader?.token ?? null, ...named });
      }
    } catch (error) {
      journal.write({ type: 'failed', what: 'observe', sinceNs, code: codeIn(error) });
      complainUnlessTyped(journal, 'observe', error);
    }
    journal.write({ type: 'observed no more', observation });
  }
}
