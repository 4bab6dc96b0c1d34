import type { LeaderElection, LockHandle, WhyDeposed } from '../../../src/index.js';
import { later } from '../../../lab/patience.js';
import type { Random } from '../../../lab/random.js';
import type { Stage } from './stage.js';
import { codeIn, complainUnlessTyped } from './error-codes.js';
import { ObservedHold } from './observed-hold.js';

export const ELECTION = 'election';

/** At times fewer than the workers, so that a candidate of the same id follows a killed one. */
const CANDIDATES = ['a', 'b', 'c'] as const;

/** The transition after a silent leader. */
const TRANSITION_MS = 500;

const [IDLE_MS, STANDING_MS, PACE_MS, WORK_MS] = [300, 6_000, 250, 60];

/** For how many paces a candidate stands at most where the stage has a pace. */
const STANDING_PACES = 4;

/** Longer than the work of a term, which must have ended when another candidate leads. */
const DRAIN_MS = 20_000;

/** Stands for election, leads for a while, and resigns, hands over or stops. */
export class Candidate {
  readonly #stage: Stage;
  readonly #random: Random;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  async act(): Promise<void> {
    const standingMs = Math.max(STANDING_MS, STANDING_PACES * (this.#stage.paceMs ?? 0));
    while (!this.#stage.isStopping) {
      await this.#stage.time.pause(this.#random.between(0, IDLE_MS));
      await new Campaign(this.#stage, this.#random).run(this.#random.between(500, standingMs));
    }
  }
}

/** One candidate from its start to its stop. The journal has each term as a lock that is asked for and held. */
class Campaign {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #candidateId: string;
  readonly #election: LeaderElection;
  #endMs = 0;
  #ask = 0;
  #isAnswered = false;
  /** The current term, until its `onDeposed`. */
  #hold: ObservedHold | undefined;
  /** A term that is being given back. */
  #parting: ObservedHold | undefined;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
    this.#candidateId = random.pick(CANDIDATES);
    this.#election = stage.locks.createLeaderElection(ELECTION, {
      candidateId: this.#candidateId,
      transitionMs: TRANSITION_MS,
      onElected: (term) => this.#lead(term),
      onDeposed: (term, why) => {
        this.#deposed(term, why);
      },
    });
    this.#election.on('error', (error) => {
      complainUnlessTyped(this.#stage.journal, 'election', error);
    });
  }

  async run(forMs: number): Promise<void> {
    const random = this.#random;
    this.#endMs = this.#stage.time.nowMs() + forMs;
    this.#asked();
    let code = 'ABORTED';
    const started = later(this.#election.start()).catch((error: unknown) => {
      code = codeIn(error);
    });
    const { paceMs = PACE_MS } = this.#stage;
    while (this.#stage.time.nowMs() < this.#endMs && !this.#stage.isStopping) {
      await this.#stage.time.pause(random.between(1, paceMs));
      if (!this.#election.isLeader) continue;
      if (random.percent(25)) await this.#parted(this.#election.resign());
      else if (random.percent(50)) await this.#parted(this.#handOver(random.pick(CANDIDATES)));
    }
    await this.#parted(this.#election.stop({ drainMs: DRAIN_MS }));
    await started;
    // The work may have outlasted its drain.
    while (this.#hold !== undefined) await this.#stage.time.pause(10);
    // A grant that came with the stop was given back, and no callback reported it.
    if (!this.#isAnswered)
      this.#stage.journal.write({ type: 'not granted', ask: this.#ask, code, isKnown: false });
  }

  #asked(): void {
    const seat = { kind: 'election', candidateId: this.#candidateId } as const;
    const timeoutMs = Math.ceil(Math.max(0, this.#endMs - this.#stage.time.nowMs())) + DRAIN_MS;
    this.#ask = this.#stage.nextAsk();
    this.#isAnswered = false;
    this.#stage.journal.write({ type: 'asked', ask: this.#ask, lock: ELECTION, seat, timeoutMs });
  }

  async #lead(term: LockHandle): Promise<void> {
    const hold = new ObservedHold(term, this.#ask, this.#stage);
    this.#isAnswered = true;
    // The term before ended without a call of this candidate, for example because it was revoked.
    this.#endParting();
    this.#hold = hold;
    const think = (): Promise<void> => this.#stage.time.pause(this.#random.between(0, this.#stage.thinkMs));
    if (this.#random.percent(50)) {
      const set = this.#random.pick(this.#stage.sets);
      await hold.add(set, `${term.id}:${String(term.fencingToken)}`, think);
    }
    // The work of a term needs the term until its end, even after its signal has aborted.
    await this.#stage.time.pause(this.#random.between(0, WORK_MS));
  }

  #deposed(term: LockHandle, why: WhyDeposed): void {
    const hold = this.#hold;
    this.#hold = undefined;
    hold?.releasing();
    if (term.isHeld) this.#parting = hold;
    else hold?.released(false);
    if (why !== 'stopped') this.#asked();
  }

  /** Awaits a call that ends the term: the term has been given back when it resolves. */
  async #parted(ending: Promise<unknown>): Promise<void> {
    await ending;
    this.#endParting();
  }

  #endParting(): void {
    this.#parting?.released(true);
    this.#parting = undefined;
  }

  async #handOver(to: string): Promise<void> {
    const hold = this.#hold;
    try {
      const isHanded = await this.#election.handOverTo(to);
      hold?.handedOver(to, isHanded);
    } catch (error) {
      complainUnlessTyped(this.#stage.journal, 'election', error);
    }
  }
}
