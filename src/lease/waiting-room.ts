import type { Clock, Timer } from '../clock.js';
import type { LeaseTerms } from '../options.js';
import { fateOf } from '../protocol/reply.js';
import type { Place, Reply } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import type { Answer, Combiner } from '../store/combiner.js';
import type { Outcome } from '../store/outcome.js';
import type { WakeListener } from '../store/wake-stream.js';

/** One attempt that waits. It is told once how its wait ended, by `granted`, `lapsed` or `failed`. */
export interface Wait {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly terms: LeaseTerms;
  granted(token: number, deadlineMs: number): void;
  /** The place in the queue is gone: the attempt has to be made anew, under a new id. */
  lapsed(): void;
  failed(error: unknown): void;
  /** Where it stands, after each look. */
  placed(place: number, reply: Reply): void;
}

/** What wakes the room up: the change stream, or polls. */
export interface Wakeups {
  readonly openedAtMs: number;
  readonly isPolling: boolean;
  listen(listening: boolean): void;
}

/** Where there is no change stream. */
export interface Poller {
  /** Somebody began to wait. */
  hurry(): void;
}

/** Whom wake-ups concern that nobody here waits for. */
export interface Outside {
  /** A grant for an attempt that ended without one: it has to be given back. */
  unclaimed(name: string, seats: Seats, id: string): void;
  /** This attempt, which does not wait, should look at its lease. */
  told(id: string): void;
  /** This document is gone; `null`: any of them may be. */
  vanished(name: string | null): void;
}

/** What is known of one wait. */
interface Known {
  readonly wait: Wait;
  /** Until a reply has shown the attempt in the queue, its own request is still on its way. */
  isQueued: boolean;
  /** The fence in the last reply that showed it queued: older grants are not for this wait (S3). */
  floor: number;
  /** The highest token heard before the reply to its own request. */
  heard: number;
  /** When the place in the queue lapses: the last word of the server, counted from before the asking. */
  aliveUntilMs: number;
  place: number;
}

/** All waits of this process for one lock: they look together, by one update. */
interface Bench {
  readonly name: string;
  readonly seats: Seats;
  readonly waits: Map<string, Known>;
  extendAtMs: number;
  expiryAtMs: number;
  retryAtMs: number;
  failures: number;
  isLooking: boolean;
  mustLookAgain: boolean;
  timer: Timer | undefined;
}

/** How many attempts that ended without a lock are remembered, so that a grant that comes late is given back. */
const MAX_REMEMBERED = 4_096;

/** How much later than the head the next in line takes its look, and the most that anybody adds. */
const SECOND_LOOK_MS = 150;
const LAST_LOOK_MS = 2_000;

/**
 * Everything this process waits for: keeps its places alive, and finds out when they turn into seats.
 *
 * A look is a transition that extends this process's own places in a lock. It surely writes, so its answer is the
 * majority's; it also drops the dead and seats whoever may enter, so a timer needs no other update. Looks happen: after
 * each opening of the change stream; every third of a lease; when the earliest lease in the way runs out (the head at
 * once, the others a little later by their place); and when somebody says so.
 */
export class WaitingRoom implements WakeListener {
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #outside: Outside;
  readonly #benches = new Map<string, Bench>();
  readonly #ended = new Map<string, Seats>();
  #wakeups!: Wakeups;
  #poller!: Poller;

  constructor(combiner: Combiner, clock: Clock, outside: Outside) {
    this.#combiner = combiner;
    this.#clock = clock;
    this.#outside = outside;
  }

  /** Where wake-ups come from. Room and stream know each other; the stream is made second. */
  wakeBy(wakeups: Wakeups, poller: Poller): void {
    this.#wakeups = wakeups;
    this.#poller = poller;
  }

  /** The locks that somebody here is queued for. */
  get queuedNames(): readonly string[] {
    return [...this.#benches.values()].filter(hasQueued).map(({ name }) => name);
  }

  get isEmpty(): boolean {
    return this.#benches.size === 0;
  }

  /** Registers an attempt before its request is sent: its grant may be heard before the reply (L2). */
  enter(wait: Wait): void {
    const bench = this.#benches.get(wait.name) ?? this.#newBench(wait);
    if (bench.waits.has(wait.id)) return;
    bench.waits.set(wait.id, {
      wait,
      isQueued: false,
      floor: 0,
      heard: 0,
      aliveUntilMs: 0,
      place: 0,
    });
  }

  /** The attempt does not wait any more. `remember`: it has no seat either, so a grant heard later is given back. */
  leave({ name, id, seats }: Wait, remember: boolean): void {
    const bench = this.#benches.get(name);
    bench?.waits.delete(id);
    if (bench?.waits.size === 0) {
      bench.timer?.cancel();
      this.#benches.delete(name);
    }
    if (remember) this.#remember(id, seats);
    this.#decideListening();
  }

  /** The reply to its own request showed the attempt in the queue. */
  queued({ name, id }: Wait, place: Place, reply: Reply, sentAtMs: number): void {
    const bench = this.#benches.get(name);
    const known = bench?.waits.get(id);
    if (bench === undefined || known === undefined) return;
    known.isQueued = true;
    this.#update(bench, known, place, reply, sentAtMs);
    this.#decideListening();
    if (this.#wakeups.isPolling) this.#poller.hurry();
    if (known.heard > known.floor) this.#grantHeard(bench, known, known.heard);
    // Asked before the stream was there, answered after its opening look: what came between was heard by nobody.
    else if (sentAtMs < this.#wakeups.openedAtMs && this.#wakeups.openedAtMs < Infinity) this.#look(bench);
    else this.#schedule(bench);
  }

  /** What any update of this process left behind may concern those who wait here. */
  answered(name: string, { reply, wake }: Answer, sentAtMs: number, process: string): void {
    const bench = this.#benches.get(name);
    if (bench === undefined) return;
    if (reply === null) {
      for (const word of wake) {
        if (!word.startsWith(`${process}:`)) continue;
        const [id = '', token = ''] = word.slice(process.length + 1).split(':');
        this.woken(name, id, Number(token));
      }
      return;
    }
    for (const known of [...bench.waits.values()]) {
      const fate = known.isQueued ? fateOf(reply, known.wait.id) : undefined;
      if (fate?.type !== 'granted') continue;
      const leftMs = fate.lease.expiresAt.getTime() - reply.nowMs;
      known.aliveUntilMs = sentAtMs + leftMs;
      this.#grant(bench, known, fate.lease.token);
    }
  }

  woken(name: string, id: string, token: number): void {
    const bench = this.#benches.get(name);
    const known = bench?.waits.get(id);
    if (bench === undefined || known === undefined) {
      this.#wokenUnknown(name, id, token);
    } else if (!known.isQueued) {
      known.heard = Math.max(known.heard, token);
    } else if (token === 0) {
      this.#look(bench);
    } else if (token > known.floor) {
      this.#grantHeard(bench, known, token);
    }
  }

  opened(): void {
    this.lookAtAll();
  }

  polling(): void {
    this.lookAtAll();
    this.#poller.hurry();
  }

  vanished(name: string | null): void {
    this.#outside.vanished(name);
    if (name === null) {
      this.lookAtAll();
      return;
    }
    const bench = this.#benches.get(name);
    if (bench !== undefined) this.#look(bench);
  }

  impossible(error: unknown): void {
    for (const bench of [...this.#benches.values()]) this.#fail(bench, error);
  }

  lookAtAll(): void {
    for (const bench of this.#benches.values()) if (hasQueued(bench)) this.#look(bench);
  }

  /** A majority's read, asked at `sentAtMs`, showed these leases of this process. */
  seen(name: string, leases: readonly SeenLease[], nowMs: number, sentAtMs: number): boolean {
    const bench = this.#benches.get(name);
    let any = false;
    for (const { id, token, expiresAt } of leases) {
      const known = bench?.waits.get(id);
      if (bench === undefined || known?.isQueued !== true) continue;
      known.aliveUntilMs = sentAtMs + expiresAt.getTime() - nowMs;
      any = true;
      this.#grantHeard(bench, known, token);
    }
    return any;
  }

  close(): void {
    for (const bench of this.#benches.values()) bench.timer?.cancel();
    this.#benches.clear();
    this.#ended.clear();
  }

  #newBench({ name, seats }: Wait): Bench {
    const bench: Bench = {
      name,
      seats,
      waits: new Map(),
      extendAtMs: Infinity,
      expiryAtMs: Infinity,
      retryAtMs: Infinity,
      failures: 0,
      isLooking: false,
      mustLookAgain: false,
      timer: undefined,
    };
    this.#benches.set(name, bench);
    return bench;
  }

  #remember(id: string, seats: Seats): void {
    this.#ended.set(id, seats);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  #wokenUnknown(name: string, id: string, token: number): void {
    const seats = this.#ended.get(id);
    if (token > 0 && seats !== undefined) this.#outside.unclaimed(name, seats, id);
    if (token === 0) this.#outside.told(id);
  }

  /** Whom the stream is kept open for: one function of what is known about the waits. */
  #decideListening(): void {
    this.#wakeups.listen([...this.#benches.values()].some(hasQueued));
  }

  /** A grant by event carries no time of its own: it lasts as long as the place it came from. */
  #grantHeard(bench: Bench, known: Known, token: number): void {
    const { leaseMs, clockAllowanceMs } = known.wait.terms;
    const leftMs = known.aliveUntilMs - clockAllowanceMs - this.#clock.nowMs();
    // Too little left to hand out (E7): extend first. The look's answer tells whether the seat is still there.
    if (leftMs < leaseMs / 3) this.#look(bench);
    else this.#grant(bench, known, token);
  }

  #grant(bench: Bench, { wait, aliveUntilMs }: Known, token: number): void {
    this.leave(wait, false);
    if (this.#benches.has(bench.name)) this.#schedule(bench);
    wait.granted(token, aliveUntilMs - wait.terms.clockAllowanceMs);
  }

  #update(bench: Bench, known: Known, place: Place, reply: Reply, sentAtMs: number): void {
    known.floor = Math.max(known.floor, reply.fence);
    known.aliveUntilMs = Math.max(known.aliveUntilMs, sentAtMs + place.expiresAt.getTime() - reply.nowMs);
    known.place = place.place;
    const leftMs = reply.earliestMs === null ? Infinity : reply.earliestMs - reply.nowMs;
    const delayMs = known.place === 0 ? 1 : Math.min(SECOND_LOOK_MS * known.place, LAST_LOOK_MS);
    const isFirst = [...bench.waits.values()].every((other) => !other.isQueued || other.place >= known.place);
    if (isFirst) bench.expiryAtMs = this.#clock.nowMs() + leftMs + delayMs;
    bench.extendAtMs = Math.min(bench.extendAtMs, sentAtMs + known.wait.terms.leaseMs / 3);
    known.wait.placed(known.place, reply);
  }

  #schedule(bench: Bench): void {
    bench.timer?.cancel();
    bench.timer = undefined;
    const dueMs = Math.min(bench.extendAtMs, bench.expiryAtMs, bench.retryAtMs);
    if (!hasQueued(bench) || dueMs === Infinity || bench.isLooking) return;
    bench.timer = this.#clock.at(dueMs, () => {
      this.#look(bench);
    });
  }

  #look(bench: Bench): void {
    // A look that is on its way was asked before what calls for this one, and does not count.
    bench.mustLookAgain = bench.isLooking;
    if (bench.isLooking || this.#benches.get(bench.name) !== bench) return;
    bench.isLooking = true;
    void this.#lookNow(bench).finally(() => {
      bench.isLooking = false;
      if (bench.mustLookAgain) this.#look(bench);
      else this.#schedule(bench);
    });
  }

  async #lookNow(bench: Bench): Promise<void> {
    const asked = [...bench.waits.values()].filter(({ isQueued }) => isQueued);
    if (asked.length === 0) return;
    const ids = asked.map(({ wait }) => wait.id);
    const leaseMs = Math.max(...asked.map(({ wait }) => wait.terms.leaseMs));
    const retentionMs = Math.max(...asked.map(({ wait }) => wait.terms.retentionMs));
    bench.extendAtMs = Infinity;
    bench.expiryAtMs = Infinity;
    bench.retryAtMs = Infinity;
    const operation = { type: 'extend', ids, leaseMs, retentionMs } as const;
    const outcome = await this.#combiner.submit(bench.name, bench.seats, operation).outcome;
    this.#looked(bench, asked, outcome);
  }

  #looked(bench: Bench, asked: readonly Known[], outcome: Outcome<Answer>): void {
    if (outcome.type === 'refused') {
      this.#fail(bench, outcome.error);
      return;
    }
    if (outcome.type === 'unknown') {
      bench.failures += 1;
      const pauseMs = Math.min(25 * 2 ** bench.failures, 1_000) * (0.5 + Math.random() / 2);
      bench.retryAtMs = this.#clock.nowMs() + pauseMs;
      return;
    }
    bench.failures = 0;
    const { reply } = outcome.value;
    for (const known of asked) {
      // Granted meanwhile, or not wanted any more: what was asked before does not take that back.
      if (bench.waits.get(known.wait.id) !== known) continue;
      const fate = reply === null ? undefined : fateOf(reply, known.wait.id);
      if (reply !== null && fate?.type === 'queued') {
        this.#update(bench, known, fate.place, reply, outcome.sentAtMs);
      } else {
        this.leave(known.wait, true);
        known.wait.lapsed();
      }
    }
  }

  #fail(bench: Bench, error: unknown): void {
    for (const { wait, isQueued } of [...bench.waits.values()]) {
      if (!isQueued) continue;
      this.leave(wait, true);
      wait.failed(error);
    }
  }
}

/** One of this process's leases, as a read shows it. */
export interface SeenLease {
  readonly id: string;
  readonly token: number;
  readonly expiresAt: Date;
}

const hasQueued = ({ waits }: Bench): boolean => [...waits.values()].some(({ isQueued }) => isQueued);
