import { endOfTurn } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import type { Fields } from '../protocol/expressions.js';
import type { Seats } from '../protocol/seats.js';
import {
  LEAVE_PROJECTION,
  REVOKED_PROJECTION,
  readReply,
  replyProjection,
  timeOf,
} from '../protocol/reply.js';
import type { Reply } from '../protocol/reply.js';
import { shortForm } from '../protocol/short-form.js';
import { readWake } from '../protocol/wake.js';
import { mayCreate, transition } from '../protocol/transition.js';
import { judged, verdictProjection } from '../protocol/verdict.js';
import type { Operation } from '../protocol/operation.js';
import { Lane, idsOf } from './lane.js';
import type { Asked, UnsentRequest } from './lane.js';
import type { LockCollection } from './lock-collection.js';
import { SoleUse } from './sole-use.js';
import type { Done, Outcome } from './outcome.js';
import { concernsOperations, refusalFor } from './refusal.js';

/** What an update left behind: what `wake` says in any case, the rest unless all it did was to leave. */
export interface Answer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /** False: there is no document, and nothing in the update could create one. */
  readonly exists: boolean;
  /** The server's time of the update; `undefined`: there is no document. */
  readonly nowMs: number | undefined;
  /** The records of revocations, unchecked, if something has left: for `revocationOf`. */
  readonly revoked?: unknown;
}

/** One operation on its way. */
export interface Submission {
  readonly outcome: Promise<Outcome<Answer>>;
  /** Takes the operation back if it has not been sent. True: it will never be. */
  withdraw(): boolean;
}

export interface SubmitOptions {
  /** Take over an idle document of another kind first. */
  readonly adopting?: boolean;
}

interface Pending extends Asked {
  readonly settle: (outcome: Outcome<Answer>) => void;
}

/** An operation as it is sent. */
interface Sent extends Pending {
  readonly operation: Operation;
}

type Batch = readonly [Sent, ...Sent[]];

/**
 * One update in flight per document and process. Operations that arrive meanwhile go together into the next ones, in the
 * order of their lane (flat combining): a hundred local callers cost a few writes, and a hot document has at most one
 * writer per process, because conflicting writers stall the whole server (E24).
 *
 * An update that the server refuses for what one of its operations would do is sent again in parts, until that operation
 * is alone: no other one fails with it.
 */
export class Combiner {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #onAnswer: (name: string, answer: Answer, sentAt: Moment) => void;
  readonly #lanes = new Map<string, Lane<Pending>>();
  readonly #soleUse = new SoleUse();

  /** @param onAnswer - Hears every answer before those who asked: it may concern others of this process. */
  constructor(
    collection: LockCollection,
    process: string,
    clock: Clock,
    onAnswer: (name: string, answer: Answer, sentAt: Moment) => void,
  ) {
    this.#collection = collection;
    this.#process = process;
    this.#clock = clock;
    this.#onAnswer = onAnswer;
  }

  submit(
    name: string,
    seats: Seats,
    operation: Operation | UnsentRequest,
    { adopting = false }: SubmitOptions = {},
  ): Submission {
    let settle!: (outcome: Outcome<Answer>) => void;
    const outcome = new Promise<Outcome<Answer>>((resolve) => {
      settle = resolve;
    });
    const pending: Pending = { seats, operation, adopting, settle };
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(name, lane);
      lane.add(pending);
      void this.#run(name, lane);
    } else lane.add(pending);
    return { outcome, withdraw: () => this.#lanes.get(name)?.withdraw(pending) === true };
  }

  async #run(name: string, lane: Lane<Pending>): Promise<void> {
    for (;;) {
      // Whoever was settled by the last update asks for more in the same turn, and that goes along with what waits.
      await endOfTurn();
      const taken = lane.take();
      const [first, ...others] = taken.map(asSent);
      if (first === undefined) break;
      const beganMs = this.#clock.nowMs();
      const outcome = await this.#send(name, [first, ...others]);
      if (!concernsOperations(outcome)) lane.passed(taken.length, this.#shareOf(outcome, beganMs));
      else if (others.length > 0) {
        lane.refused(taken);
        continue;
      }
      for (const { settle, operation } of [first, ...others]) {
        settle(outcome.type === 'refused' ? refusalFor(name, operation, outcome) : outcome);
      }
    }
    this.#lanes.delete(name);
  }

  /** How much of the time that a call has this one took; not the time in which it waited for a connection, if known. */
  #shareOf(outcome: Outcome<Answer>, beganMs: number): number {
    const sentMs = outcome.type === 'done' ? outcome.sentAt.ms : beganMs;
    return (this.#clock.nowMs() - sentMs) / this.#collection.boundMs;
  }

  async #send(name: string, batch: Batch): Promise<Outcome<Answer>> {
    const [{ seats, adopting }] = batch;
    const operations = batch.map(({ operation }) => operation);
    const onlyLeaves = operations.every(({ type }) => type === 'leave');
    try {
      const short = await this.#sendShort(name, batch);
      if (short !== undefined) return short;
      const outcome = await this.#collection.transition(
        name,
        transition(seats, operations, { adopting }),
        onlyLeaves ? LEAVE_PROJECTION : this.#projection(seats, operations),
        mayCreate(operations),
      );
      if (outcome.type !== 'done') return outcome;
      const answer = this.#read(seats, operations, outcome, onlyLeaves);
      this.#soleUse.learn(name, operations, answer.reply, this.#clock.nowMs());
      this.#onAnswer(name, answer, outcome.sentAt);
      return { ...outcome, value: answer };
    } catch (error) {
      // An answer that cannot be read: whoever waits for it must not wait for ever.
      return { type: 'unknown', error, maybeApplied: true };
    }
  }

  #projection(seats: Seats, operations: readonly Operation[]): Fields {
    // A reply to a look, too, tells a process that keeps seats of this lock whether others wait.
    const mayKeep = operations.some(
      (operation) => !('request' in operation) || operation.request.keeps !== undefined,
    );
    const counted = seats.mayKeep && mayKeep ? this.#process : undefined;
    return {
      ...replyProjection(seats, operations.flatMap(idsOf), counted),
      ...verdictProjection(seats, operations),
      ...(operations.some(({ type }) => type === 'leave') ? REVOKED_PROJECTION : {}),
    };
  }

  /** Where nobody else is likely to be, the short form is tried first; `undefined`: it is not, or did not apply. */
  async #sendShort(
    name: string,
    [{ seats, operation, adopting }, ...others]: Batch,
  ): Promise<Outcome<Answer> | undefined> {
    const isLikely = this.#soleUse.expect(name, operation, this.#clock.nowMs());
    const form = isLikely && !adopting && others.length === 0 ? shortForm(seats, operation) : undefined;
    if (form === undefined) return undefined;
    const outcome = await this.#collection.transition(name, form.pipeline, form.fields, false);
    if (outcome.type !== 'done') return outcome;
    const short = outcome.value === null ? undefined : form.read(outcome.value);
    if (short === undefined) return undefined;
    const { reply, wake, nowMs } = short;
    const { sentAt } = outcome;
    if (nowMs !== undefined) this.#collection.serverClock.learn(nowMs, sentAt.ms);
    this.#soleUse.applied(name, operation, this.#clock.nowMs());
    const answer: Answer = { wake, reply, exists: true, nowMs };
    this.#onAnswer(name, answer, sentAt);
    return { ...outcome, value: answer };
  }

  #read(
    seats: Seats,
    operations: readonly Operation[],
    { value, sentAt }: Done<Readonly<Record<string, unknown>> | null>,
    onlyLeaves: boolean,
  ): Answer {
    if (value === null) return { wake: [], reply: null, exists: false, nowMs: undefined };
    const nowMs = timeOf(value);
    if (nowMs !== undefined) this.#collection.serverClock.learn(nowMs, sentAt.ms);
    const { revoked } = value;
    if (onlyLeaves) return { wake: readWake(value['wake']), reply: null, exists: true, nowMs, revoked };
    const reply = judged(seats, operations, readReply(seats, value), value);
    return { wake: reply.wake, reply, exists: true, nowMs, revoked };
  }
}

function asSent(pending: Pending): Sent {
  const { operation } = pending;
  if (!('make' in operation)) return { ...pending, operation };
  return { ...pending, operation: { type: operation.type, request: operation.make() } };
}
