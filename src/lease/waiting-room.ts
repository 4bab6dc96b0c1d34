import { after } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import { UnsupportedServerError } from '../errors.js';
import type { Poll } from '../protocol/extension.js';
import { leftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';
import { readWakeWord } from '../protocol/wake.js';
import type { Place, Reply } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import type { Answer, Combiner } from '../store/combiner.js';
import type { WakeListener } from '../store/wake-stream.js';
import { Bench } from './bench.js';
import type { Wait } from './bench.js';

/** What wakes the room up: the change stream, or polls. */
export interface Wakeups {
  /** Since when events arrive without a gap; infinitely late if they do not. */
  readonly openedAtMs: number;
  readonly isPolling: boolean;
  listen(listening: boolean): void;
}

/** Where there is no change stream. */
export interface Polls {
  /** Somebody began to wait. */
  hurry(): void;
}

/** Whom wake-ups concern that nobody here waits for. */
export interface Outside {
  /** A grant for an attempt that ended without one: it has to be given back. */
  unclaimed(name: string, seats: Seats, id: string, leaseMs: number): void;
  /** This attempt, which does not wait, should look at its lease. */
  told(id: string): void;
  /** This document is gone; `null`: any of them may be. */
  vanished(name: string | null): void;
}

/** How many attempts that ended without a lock are remembered, so that a grant that comes late is given back. */
const MAX_REMEMBERED = 4_096;

/** What is remembered of an attempt that ended without a lock. */
interface Ended {
  readonly seats: Seats;
  readonly leaseMs: number;
}

/** Everything this process waits for: one bench per lock, and whatever wakes them. */
export class WaitingRoom implements WakeListener {
  readonly #combiner: Combiner;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #outside: Outside;
  readonly #benches = new Map<string, Bench>();
  readonly #queued = new Set<string>();
  readonly #ended = new Map<string, Ended>();
  #wakeups!: Wakeups;
  #polls!: Polls;

  constructor(combiner: Combiner, process: string, clock: Clock, outside: Outside) {
    this.#combiner = combiner;
    this.#process = process;
    this.#clock = clock;
    this.#outside = outside;
  }

  /** Where wake-ups come from. They know the room, so they are made after it. */
  wakeBy(wakeups: Wakeups, polls: Polls): void {
    this.#wakeups = wakeups;
    this.#polls = polls;
  }

  /** The locks that have to be polled: those that somebody here is queued for, while no stream tells of them. */
  get namesToPoll(): readonly string[] {
    return this.#wakeups.isPolling ? [...this.#queued] : [];
  }

  /** Registers an attempt before its request is sent: its grant may be heard before the reply (L2). */
  enter(wait: Wait): void {
    let bench = this.#benches.get(wait.name);
    if (bench === undefined) {
      bench = new Bench(wait.name, this.#combiner, this.#clock, (ended, isGranted) => {
        this.#left(ended, !isGranted);
      });
      this.#benches.set(wait.name, bench);
    }
    bench.add(wait);
  }

  /** The attempt does not wait any more. `remember`: it has no seat either, so a grant heard later is given back. */
  leave(wait: Wait, remember: boolean): void {
    this.#benches.get(wait.name)?.remove(wait.id);
    this.#left(wait, remember);
  }

  /** The reply to its own request showed the attempt in the queue. */
  queued({ name, id }: Wait, place: Place, reply: Reply, sentAt: Moment): void {
    const bench = this.#benches.get(name);
    if (bench?.has(id) !== true) return;
    // Asked before the stream was there, answered after its opening look: what came between was heard by nobody.
    const { openedAtMs } = this.#wakeups;
    const isBetween = sentAt.ms < openedAtMs && openedAtMs < Infinity;
    this.#queued.add(name);
    this.#decideListening();
    bench.queued(id, place, reply, sentAt, isBetween);
    if (this.#wakeups.isPolling) this.#polls.hurry();
  }

  /** What any update of this process left behind may concern those who wait here. */
  answered(name: string, { reply, wake }: Answer, sentAt: Moment): void {
    if (reply !== null) this.#seated(name, reply.leases, reply.nowMs, sentAt);
    for (const word of wake) {
      const told = readWakeWord(this.#process, word);
      if (told === undefined) continue;
      // Who asked a holder of this process to look again sees to it.
      if (told.token > 0 || this.#benches.get(name)?.has(told.id) === true) {
        this.woken(name, told.id, told.token);
      }
    }
  }

  /** A majority's read, asked then, showed these leases of this process. True: somebody waited for one of them. */
  seen({ name, leases, nowMs, waiting }: Poll, sentAt: Moment): boolean {
    const isAwaited = this.#seated(name, leases, nowMs, sentAt);
    this.#benches.get(name)?.lookUnless([...waiting, ...leases.map(({ id }) => id)], sentAt);
    return isAwaited;
  }

  woken(name: string, id: string, token: number): void {
    // Whoever waits for an upgrade has a lease, too, that may have been asked for.
    if (token === 0) this.#outside.told(id);
    const bench = this.#benches.get(name);
    if (bench?.has(id) === true) bench.woken(id, token);
    else if (token > 0) this.#giveBackEnded(name, id);
  }

  opened(): void {
    for (const bench of this.#benches.values()) bench.look();
  }

  blind(): void {
    this.#polls.hurry();
  }

  vanished(name: string | null): void {
    this.#outside.vanished(name);
    if (name === null) this.opened();
    else this.#benches.get(name)?.look();
  }

  impossible(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `The option wakeups demands a change stream, and there is none: ${why}`;
    for (const bench of [...this.#benches.values()]) {
      bench.fail(new UnsupportedServerError(bench.name, detail, error));
    }
  }

  close(): void {
    for (const bench of this.#benches.values()) bench.close();
    this.#benches.clear();
    this.#queued.clear();
    this.#ended.clear();
  }

  #seated(name: string, leases: readonly Lease[], nowMs: number, sentAt: Moment): boolean {
    const bench = this.#benches.get(name);
    let isAwaited = false;
    for (const { id, token, expiresAt, leaseMs } of leases) {
      const aliveUntil = after(sentAt, leftMs(expiresAt, nowMs, leaseMs));
      if (bench?.has(id) === true) isAwaited = bench.seated(id, token, aliveUntil) || isAwaited;
      else this.#giveBackEnded(name, id);
    }
    return isAwaited;
  }

  #giveBackEnded(name: string, id: string): void {
    const ended = this.#ended.get(id);
    if (ended === undefined) return;
    this.#ended.delete(id);
    this.#outside.unclaimed(name, ended.seats, id, ended.leaseMs);
  }

  #left({ name, id, seats, terms, hasLease }: Wait, remember: boolean): void {
    const bench = this.#benches.get(name);
    if (bench?.isEmpty === true) this.#benches.delete(name);
    if (bench?.hasQueued !== true) this.#queued.delete(name);
    if (remember && !hasLease) this.#remember(id, { seats, leaseMs: terms.leaseMs });
    this.#decideListening();
  }

  #remember(id: string, ended: Ended): void {
    this.#ended.set(id, ended);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  /** Whom the stream is kept open for: one function of what is known about the waits. */
  #decideListening(): void {
    this.#wakeups.listen(this.#queued.size > 0);
  }
}
