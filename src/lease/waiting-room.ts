import type { Clock } from '../clock.js';
import { UnsupportedServerError } from '../errors.js';
import { fateOf, readWakeWord } from '../protocol/reply.js';
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
  unclaimed(name: string, seats: Seats, id: string): void;
  /** This attempt, which does not wait, should look at its lease. */
  told(id: string): void;
  /** This document is gone; `null`: any of them may be. */
  vanished(name: string | null): void;
}

/** One of this process's leases, as a read shows it. */
export interface SeenLease {
  readonly id: string;
  readonly token: number;
  readonly expiresAt: Date;
}

/** How many attempts that ended without a lock are remembered, so that a grant that comes late is given back. */
const MAX_REMEMBERED = 4_096;

/** Everything this process waits for: one bench per lock, and whatever wakes them. */
export class WaitingRoom implements WakeListener {
  readonly #combiner: Combiner;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #outside: Outside;
  readonly #benches = new Map<string, Bench>();
  readonly #queued = new Set<string>();
  readonly #ended = new Map<string, Seats>();
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

  /** The locks that somebody here is queued for. */
  get queuedNames(): readonly string[] {
    return [...this.#queued];
  }

  /** Registers an attempt before its request is sent: its grant may be heard before the reply (L2). */
  enter(wait: Wait): void {
    let bench = this.#benches.get(wait.name);
    if (bench === undefined) {
      bench = new Bench(wait.name, wait.seats, this.#combiner, this.#clock, (ended, isGranted) => {
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
  queued({ name, id }: Wait, place: Place, reply: Reply, sentAtMs: number): void {
    const bench = this.#benches.get(name);
    // Asked before the stream was there, answered after its opening look: what came between was heard by nobody.
    const { openedAtMs } = this.#wakeups;
    const isBetween = sentAtMs < openedAtMs && openedAtMs < Infinity;
    this.#queued.add(name);
    this.#decideListening();
    bench?.queued(id, place, reply, sentAtMs, isBetween);
    if (this.#wakeups.isPolling) this.#polls.hurry();
  }

  /** What any update of this process left behind may concern those who wait here. */
  answered(name: string, { reply, wake }: Answer, sentAtMs: number): void {
    const bench = this.#benches.get(name);
    if (bench === undefined) return;
    if (reply === null) {
      for (const word of wake) {
        const told = readWakeWord(this.#process, word);
        if (told !== undefined) this.woken(name, told.id, told.token);
      }
      return;
    }
    for (const { id } of reply.leases) {
      const fate = bench.has(id) ? fateOf(reply, id) : undefined;
      if (fate?.type !== 'granted') continue;
      const leftMs = fate.lease.expiresAt.getTime() - reply.nowMs;
      bench.seated(id, fate.lease.token, sentAtMs + leftMs);
    }
  }

  /** A majority's read, asked at `sentAtMs`, showed these leases of this process. True: somebody waited for one. */
  seen(name: string, leases: readonly SeenLease[], nowMs: number, sentAtMs: number): boolean {
    const bench = this.#benches.get(name);
    const claims = leases.map(
      ({ id, token, expiresAt }) => bench?.seated(id, token, sentAtMs + expiresAt.getTime() - nowMs) === true,
    );
    return claims.includes(true);
  }

  woken(name: string, id: string, token: number): void {
    const bench = this.#benches.get(name);
    if (bench?.has(id) === true) {
      bench.woken(id, token);
      return;
    }
    const seats = this.#ended.get(id);
    if (token === 0) this.#outside.told(id);
    else if (seats !== undefined) this.#outside.unclaimed(name, seats, id);
  }

  opened(): void {
    for (const bench of this.#benches.values()) bench.look();
  }

  polling(): void {
    this.opened();
    this.#polls.hurry();
  }

  vanished(name: string | null): void {
    this.#outside.vanished(name);
    if (name === null) this.opened();
    else this.#benches.get(name)?.look();
  }

  impossible(error: unknown): void {
    const detail = 'The option wakeups demands a change stream, and the server opens none for this client';
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

  #left({ name, id, seats }: Wait, remember: boolean): void {
    const bench = this.#benches.get(name);
    if (bench?.isEmpty === true) this.#benches.delete(name);
    if (bench?.hasQueued !== true) this.#queued.delete(name);
    if (remember) this.#remember(id, seats);
    this.#decideListening();
  }

  #remember(id: string, seats: Seats): void {
    this.#ended.set(id, seats);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  /** Whom the stream is kept open for: one function of what is known about the waits. */
  #decideListening(): void {
    this.#wakeups.listen(this.#queued.size > 0);
  }
}
