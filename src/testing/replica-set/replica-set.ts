// Folder `replica-set`: three members with an oplog each, their elections, and what a majority of them has.

import type { SeededChance } from '../time/seeded-chance.js';
import type { Time } from '../time/time.js';
import { Member } from './member.js';
import type { Role } from './member.js';

const MEMBERS = 3;
const MAJORITY = 2;

/** The time that a message between two members takes, in ms. */
const LEAST_LATENCY_MS = 0.05;
const MOST_LATENCY_MS = 0.3;

/** How long a primary that was cut off still acts as primary after the planned election of the next one, in ms. */
const LEAST_STALE_MS = 50;
const MOST_STALE_MS = 400;

/** The time from `start` to the election, and from an election that finds no majority to the next one, in ms. */
const START_ELECTION_MS = 200;

export interface ReplicaSetListener {
  /** A member was elected, has stepped down, was stopped or was started. */
  changed(): void;
  /** The primary has committed more entries. */
  committed(primary: Member): void;
}

/**
 * Three members. The primary appends entries to its oplog, and the other members copy them. The primary commits all
 * entries up to the latest one of its own term that a majority has. An election chooses the candidate with the newest
 * oplog. The candidates are a majority of the members, so the newest of their oplogs has every committed entry.
 */
export class ReplicaSet {
  readonly members: readonly Member[];
  readonly #time: Time;
  readonly #chance: SeededChance;
  readonly #listener: ReplicaSetListener;
  /** How many entries of the primary each member has confirmed in this term. */
  readonly #confirmed = new Map<Member, number>();
  /** For each sender and receiver, the arrival time of the latest message: messages do not overtake each other. */
  readonly #lastArrivals = new Map<string, number>();
  /** The members that are cut off, each with the number of its cut. */
  readonly #isolated = new Map<Member, number>();
  #cuts = 0;
  /** The member that has stepped down. In the next election, it is a candidate only if the others are no majority. */
  #resigned: Member | undefined;
  #term = 0;
  #primary: Member | undefined;
  /** Rises when an election is planned and when the members stop: earlier plans are then obsolete. */
  #plans = 0;

  constructor(time: Time, chance: SeededChance, name: string, listener: ReplicaSetListener) {
    this.#time = time;
    this.#chance = chance;
    this.#listener = listener;
    this.members = Array.from({ length: MEMBERS }, (_, index) => new Member(`${name}-${index}:27017`, time));
    this.#elect();
  }

  /** The member that the majority has elected; `undefined` while there is none. */
  get primary(): Member | undefined {
    return this.#primary;
  }

  /** The role of each member, by its address. If several act as primary, only the last elected one is `primary`. */
  get roles(): ReadonlyMap<string, Role> {
    const newest = Math.max(...this.members.map(({ role, term }) => (role === 'primary' ? term : 0)));
    return new Map(
      this.members.map(({ address, role, term }) => [
        address,
        role === 'primary' && term < newest ? 'secondary' : role,
      ]),
    );
  }

  member(address: string): Member | undefined {
    return this.members.find((member) => member.address === address);
  }

  /** Sends the oplog of the primary to the other members. Does nothing if `from` is no longer the elected primary. */
  replicate(from: Member): void {
    if (from !== this.#primary || this.#isolated.has(from)) return;
    const { length, term } = from;
    for (const to of this.members) {
      if (to === from || to.role === 'down') continue;
      this.#send(from, to, () => {
        if (to.term > term || to.role === 'down') return;
        to.term = term;
        if (to.role === 'primary') to.leaveOffice('secondary');
        to.follow(from, length);
        to.commit(Math.min(from.committedLength, length));
        this.#send(to, from, () => {
          this.#onConfirmed(from, to, length, term);
        });
      });
    }
  }

  #onConfirmed(primary: Member, member: Member, length: number, term: number): void {
    if (primary !== this.#primary || primary.term !== term) return;
    this.#confirmed.set(member, Math.max(length, this.#confirmed.get(member) ?? 0));
    const lengths = [primary.length, ...this.#confirmed.values()].sort((a, b) => b - a);
    const durable = lengths[MAJORITY - 1] ?? 0;
    // The primary commits only up to an entry of its own term. If a majority has an entry of this term, no member
    // without the entry can be elected. If a majority has an older entry, a member without that entry may be elected.
    if (durable <= primary.committedLength || primary.entryAt(durable - 1)?.term !== term) return;
    primary.commit(durable);
    this.#listener.committed(primary);
    for (const to of this.members) {
      if (to === primary) continue;
      this.#send(primary, to, () => {
        if (to.term === term) to.commit(durable);
      });
    }
  }

  /** Makes the primary step down. The messages that the primary has sent still arrive. */
  stepDown(electionMs: number): void {
    const old = this.#primary;
    if (old === undefined) return;
    this.#primary = undefined;
    this.#resigned = old;
    old.leaveOffice('secondary');
    this.#listener.changed();
    this.#electIn(electionMs);
  }

  /**
   * Cuts the primary off from the other members. The old primary acts as primary until the cut ends, some time after
   * the planned election. Then the old primary follows the next one, and rolls back each entry that the next one lacks.
   */
  losePrimary(electionMs: number): void {
    const old = this.#primary;
    if (old === undefined) return;
    this.#primary = undefined;
    const cut = (this.#cuts += 1);
    this.#isolated.set(old, cut);
    this.#electIn(electionMs);
    const staleMs = electionMs + this.#chance.between(LEAST_STALE_MS, MOST_STALE_MS);
    this.#time.at(this.#time.nowMs() + staleMs, () => {
      // This cut may be over: `stop` ends every cut. The member may even have been cut off again since then.
      if (this.#isolated.get(old) !== cut) return;
      this.#isolated.delete(old);
      old.leaveOffice('secondary');
      if (this.#primary !== undefined) this.replicate(this.#primary);
      this.#listener.changed();
    });
  }

  /** Stops all members. Their oplogs stay. */
  stop(): void {
    this.#plans += 1;
    this.#primary = undefined;
    this.#isolated.clear();
    for (const member of this.members) member.leaveOffice('down');
    this.#listener.changed();
  }

  start(): void {
    for (const member of this.members) if (member.role === 'down') member.role = 'secondary';
    this.#listener.changed();
    if (this.#primary === undefined) this.#electIn(START_ELECTION_MS);
  }

  #electIn(delayMs: number): void {
    const plan = (this.#plans += 1);
    this.#time.at(this.#time.nowMs() + delayMs, () => {
      if (plan === this.#plans) this.#elect();
    });
  }

  #elect(): void {
    const voters = this.members.filter((member) => member.role !== 'down' && !this.#isolated.has(member));
    if (voters.length < MAJORITY) {
      this.#electIn(START_ELECTION_MS);
      return;
    }
    const others = voters.filter((member) => member !== this.#resigned);
    // If the others are no majority, they may lack a committed entry that the resigned member has.
    const candidates = others.length < MAJORITY ? [...new Set([...others, ...voters])] : others;
    this.#resigned = undefined;
    const winner = candidates.reduce((best, other) => (isNewer(other, best) ? other : best));
    this.#term += 1;
    this.#primary = winner;
    winner.role = 'primary';
    winner.term = this.#term;
    this.#confirmed.clear();
    winner.append({ type: 'new-term' });
    this.replicate(winner);
    this.#listener.changed();
  }

  #send(from: Member, to: Member, arrive: () => void): void {
    if (this.#isolated.has(from) || this.#isolated.has(to)) return;
    const link = `${from.address} ${to.address}`;
    const latencyMs = this.#chance.between(LEAST_LATENCY_MS, MOST_LATENCY_MS);
    const atMs = Math.max(this.#time.nowMs() + latencyMs, this.#lastArrivals.get(link) ?? 0);
    this.#lastArrivals.set(link, atMs);
    this.#time.deliverAt(atMs, () => {
      const isLost = this.#isolated.has(from) || this.#isolated.has(to);
      if (!isLost && from.role !== 'down' && to.role !== 'down') arrive();
    });
  }
}

/** The newer oplog is the one with the later last term, or with equal terms the longer one. */
const isNewer = (a: Member, b: Member): boolean =>
  a.lastTerm > b.lastTerm || (a.lastTerm === b.lastTerm && a.length > b.length);
