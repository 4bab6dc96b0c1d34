import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { Report } from '../events.js';
import type { LeaseTerms, Settings } from '../options/provider-options.js';
import { fateOf } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import type { Demand, Request } from '../protocol/operation.js';
import type { Answer, Combiner } from '../store/combiner.js';
import type { LockCollection } from '../store/lock-collection.js';
import type { Outcome } from '../store/outcome.js';
import type { ReleaseQueue } from './release-queue.js';
import type { WaitingRoom } from './waiting-room.js';

/** The parts of a provider that an acquisition works with. */
export interface AcquisitionContext {
  readonly settings: Settings;
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly collection: LockCollection;
  readonly combiner: Combiner;
  readonly room: WaitingRoom;
  readonly releases: ReleaseQueue;
  /** Aborts when the provider closes. */
  readonly closing: AbortSignal;
}

/** Of one look: no two are alike, so each of them is a real write. */
export const newNonce = (): string => randomBytes(6).toString('hex');

/** 96 random bits, drawn at use: a cloned process must not repeat them (E34). */
export const newAttemptId = (): string => `w${randomBytes(12).toString('hex')}`;

/** By how much the estimate of the server's clock may be early. */
const ARRIVAL_SLACK_MS = 100;

/** What is asked for under one id. */
export interface AttemptSpec {
  readonly name: string;
  readonly seats: Seats;
  readonly terms: LeaseTerms;
  readonly type: 'enqueue' | 'try';
  readonly why: string | undefined;
  /** How many tokens the grant reserves, so that the seat may be kept. */
  readonly keeps: number | undefined;
  /** How much of the lock is asked for, as is known when an attempt begins. */
  demand(): Demand;
}

/**
 * One attempt id and what may be in the document under it. The request is made at the first asking and repeated as it
 * is, its not-after included; withdrawing, cancelling and giving back name the same id, so each may be repeated.
 */
export class Attempt {
  readonly id: string = newAttemptId();
  readonly #context: AcquisitionContext;
  readonly #spec: AttemptSpec;
  #request: Request | undefined;
  #mayRemain = false;
  #mayArriveLate = false;
  #withdraw: () => void = () => undefined;

  constructor(context: AcquisitionContext, spec: AttemptSpec) {
    this.#context = context;
    this.#spec = spec;
  }

  /** Whether the document may hold this attempt: from its first sending until the server shows that it does not. */
  get mayRemain(): boolean {
    return this.#mayRemain;
  }

  /** The request, as it was first sent. */
  get request(): Request {
    this.#request ??= this.#newRequest();
    return this.#request;
  }

  /** Sends the request. `adopting`: take over an idle document of another kind first. */
  async ask(adopting: boolean): Promise<Outcome<Answer>> {
    const { name, seats, type } = this.#spec;
    const operation = { type, request: this.request };
    const submission = this.#context.combiner.submit(name, seats, operation, { adopting });
    const mayHaveRemained = this.#mayRemain;
    this.#mayRemain = true;
    this.#withdraw = () => {
      if (submission.withdraw()) this.#mayRemain = mayHaveRemained;
    };
    const outcome = await submission.outcome;
    if (outcome.type === 'unknown' && outcome.maybeApplied) this.#mayArriveLate = true;
    else if (outcome.type !== 'done') this.#mayRemain = mayHaveRemained;
    return this.#learn(outcome);
  }

  /** Extends whatever there is under this id, seat or place. */
  async extend(): Promise<Outcome<Answer>> {
    const { name, seats, terms } = this.#spec;
    const operation = { type: 'extend', ids: [this.id], ...terms, nonce: newNonce() } as const;
    return this.#learn(await this.#context.combiner.submit(name, seats, operation).outcome);
  }

  /** Takes the request back if it has not been sent yet. */
  withdraw(): void {
    this.#withdraw();
  }

  /** Removes the waiter only: the answer tells whether the grant came first. */
  async cancel(): Promise<Outcome<Answer>> {
    const { name, seats } = this.#spec;
    const operation = { type: 'cancel', id: this.id } as const;
    return this.#learn(await this.#context.combiner.submit(name, seats, operation).outcome);
  }

  /** Takes out whatever is in the document, in the background. */
  giveBack(): void {
    if (!this.#mayRemain) return;
    const { name, seats, terms } = this.#spec;
    const { clock, releases, settings } = this.#context;
    const untilMs = clock.nowMs() + 2 * terms.leaseMs + settings.storeTimeoutMs;
    void releases.giveBack({ name, seats, id: this.id, untilMs, againAtMs: this.copyUntilMs });
  }

  /**
   * Until when a copy of the request may still take a seat: one that nobody has answered may be on its way, though a
   * repeat of it was granted and has been given back; past its not-after it does nothing (E2).
   */
  get copyUntilMs(): number | undefined {
    if (!this.#mayArriveLate) return undefined;
    const { serverClock } = this.#context.collection;
    return serverClock.toLocalMs(this.request.notAfter.getTime()) + ARRIVAL_SLACK_MS;
  }

  /** The place lapsed: nothing of this attempt is left. */
  forget(): void {
    this.#mayRemain = false;
  }

  #learn(outcome: Outcome<Answer>): Outcome<Answer> {
    if (outcome.type !== 'done') return outcome;
    const { reply, exists } = outcome.value;
    this.#mayRemain = reply === null ? exists : fateOf(reply, this.id).type !== 'absent';
    return outcome;
  }

  #newRequest(): Request {
    const { settings, process, collection } = this.#context;
    const { leaseMs, retentionMs, clockAllowanceMs } = this.#spec.terms;
    // Nobody awaits an answer for longer than this; whoever waits on asks again, under another id.
    const patienceMs = (this.#spec.type === 'try' ? 1 : 2) * settings.storeTimeoutMs;
    return {
      ...this.#spec.demand(),
      id: this.id,
      process,
      leaseMs,
      label: settings.label,
      why: this.#spec.why,
      keeps: this.#spec.keeps,
      notAfter: new Date(collection.serverClock.nowMs() + Math.min(leaseMs - clockAllowanceMs, patienceMs)),
      maxMembers: settings.maxMembers,
      retentionMs,
    };
  }
}
