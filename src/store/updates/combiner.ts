// Folder `updates`: the operations of this process on lock documents, combined and sent.

import { endOfTurn } from '../../clock.js';
import type { Clock, Moment } from '../../clock.js';
import type { Fields } from '../../protocol/expressions.js';
import type { SeatRules } from '../../protocol/seats.js';
import {
  LEAVE_PROJECTION,
  REVOKED_PROJECTION,
  readReply,
  replyProjection,
  timeOf,
} from '../../protocol/replies/reply.js';
import type { Reply } from '../../protocol/replies/reply.js';
import { fastPath } from '../../protocol/pipeline/fast-path.js';
import type { FastPath } from '../../protocol/pipeline/fast-path.js';
import { readWake } from '../../protocol/wake.js';
import { mayCreate, transition } from '../../protocol/pipeline/transition.js';
import { judged, verdictProjection } from '../../protocol/pipeline/verdict.js';
import type { Operation } from '../../protocol/operation.js';
import { Lane, idsOf } from './lane.js';
import type { QueuedOperation, UnsentRequest } from './lane.js';
import type { LockCollection } from '../lock-collection.js';
import { UncontendedHint } from './uncontended-hint.js';
import type { Done, Outcome } from '../outcome.js';
import { concernsOperations, refusalFor } from './refusal.js';

/** The answer to an update. `reply` is `null` if the update contained only leaves, or if there is no document. */
export interface Answer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /** The server's time of the update; `undefined` if there is no document. */
  readonly nowMs: number | undefined;
  /** The stored records of revocations, unchecked, if the update contained a leave; `revocationOf` reads them. */
  readonly revoked?: unknown;
}

/** One submitted operation. */
export interface Submission {
  /** Never settles if the operation was taken back. */
  readonly outcome: Promise<Outcome<Answer>>;
  /** Takes the operation back. Returns true if it was not sent and never will be. */
  withdraw(): boolean;
}

export interface SubmitOptions {
  /** Take over an idle document of another kind first. */
  readonly takingOver?: boolean;
}

interface Pending extends QueuedOperation {
  readonly settle: (outcome: Outcome<Answer>) => void;
  /** The operation as it was first sent. A repeat sends the same. */
  sent?: Operation;
}

type Batch = readonly [Pending, ...Pending[]];

/**
 * Keeps one update in flight per document and process. Operations that arrive in the meantime go together into the next
 * updates, in the order of their lane (flat combining). So a hundred local callers cost a few writes, and a hot
 * document has at most one writer per process, because conflicting writers stall the whole server (E24).
 *
 * If the server refuses an update because of what one of its operations would do, the combiner sends it again in
 * smaller parts until that operation is alone. No other operation fails with it.
 */
export class Combiner {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #onAnswer: (name: string, answer: Answer, sentAt: Moment) => void;
  readonly #lanes = new Map<string, Lane<Pending>>();
  readonly #hint = new UncontendedHint();

  /** @param onAnswer - Gets every answer before its callers do, because it may concern other waits of this process. */
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
    seats: SeatRules,
    operation: Operation | UnsentRequest,
    { takingOver = false }: SubmitOptions = {},
  ): Submission {
    let settle!: (outcome: Outcome<Answer>) => void;
    const outcome = new Promise<Outcome<Answer>>((resolve) => {
      settle = resolve;
    });
    const pending: Pending = { seats, operation, takingOver, settle };
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
      // Callers whose operations the last update settled may submit more in this turn: these join the next update.
      await endOfTurn();
      const taken = lane.take();
      const [first, ...others] = taken;
      if (first === undefined) break;
      const beganMs = this.#clock.nowMs();
      const outcome = await this.#send(name, [first, ...others]);
      if (!concernsOperations(outcome)) lane.passed(taken.length, this.#shareOf(outcome, beganMs));
      else if (others.length > 0) {
        lane.refused(taken);
        continue;
      }
      for (const pending of taken) {
        pending.settle(
          outcome.type === 'refused' ? refusalFor(name, operationToSend(pending), outcome) : outcome,
        );
      }
    }
    this.#lanes.delete(name);
  }

  /**
   * The share of its time bound that this call took, without the wait for its turn if the time of the sending is known.
   */
  #shareOf(outcome: Outcome<Answer>, beganMs: number): number {
    const sentMs = outcome.type === 'done' ? outcome.sentAt.ms : beganMs;
    return (this.#clock.nowMs() - sentMs) / this.#collection.boundMs;
  }

  async #send(name: string, batch: Batch): Promise<Outcome<Answer>> {
    const [{ seats, takingOver }] = batch;
    const onlyLeaves = batch.every(({ operation: { type } }) => type === 'leave');
    let operations: readonly Operation[] = [];
    let fast: FastPath | undefined;
    try {
      const outcome = await this.#collection.transition(name, () => {
        operations = batch.map(operationToSend);
        fast = takingOver ? undefined : this.#fastPath(name, seats, operations);
        if (fast !== undefined) return { ...fast, upsert: false };
        return {
          pipeline: transition(seats, operations, { takingOver }),
          fields: onlyLeaves ? LEAVE_PROJECTION : this.#projection(seats, operations),
          upsert: mayCreate(operations),
        };
      });
      if (outcome.type !== 'done') return outcome;
      const answer =
        fast === undefined
          ? this.#read(seats, operations, outcome, onlyLeaves)
          : this.#readFastReply(fast, outcome);
      // The fast path did not apply. Its hint is used up, so this sends the full transition.
      if (answer === undefined) return await this.#send(name, batch);
      this.#remember(name, operations, answer, fast !== undefined);
      this.#onAnswer(name, answer, outcome.sentAt);
      return { ...outcome, value: answer };
    } catch (error) {
      // The answer cannot be read. The callers get an unknown outcome, because they must not wait for ever.
      return { type: 'unknown', error, maybeApplied: true };
    }
  }

  #projection(seats: SeatRules, operations: readonly Operation[]): Fields {
    // A process that keeps seats of this lock has to know whether others wait, so the reply to a look shows it as well.
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

  /** The fast path, if no other process is likely to use the lock. */
  #fastPath(
    name: string,
    seats: SeatRules,
    [operation, ...others]: readonly Operation[],
  ): FastPath | undefined {
    if (operation === undefined) return undefined;
    const isLikely = this.#hint.expect(name, operation, this.#clock.nowMs());
    return isLikely && others.length === 0 ? fastPath(seats, operation) : undefined;
  }

  #remember(name: string, operations: readonly Operation[], { reply }: Answer, wasFast: boolean): void {
    const nowMs = this.#clock.nowMs();
    const [operation] = operations;
    if (!wasFast) this.#hint.learn(name, operations, reply, nowMs);
    else if (operation !== undefined) this.#hint.applied(name, operation, nowMs);
  }

  #readFastReply(
    form: FastPath,
    { value, sentAt }: Done<Readonly<Record<string, unknown>> | null>,
  ): Answer | undefined {
    const fast = value === null ? undefined : form.read(value);
    if (fast === undefined) return undefined;
    const { reply, wake, nowMs } = fast;
    if (nowMs !== undefined) this.#collection.serverClock.learn(nowMs, sentAt.ms);
    return { wake, reply, nowMs };
  }

  #read(
    seats: SeatRules,
    operations: readonly Operation[],
    { value, sentAt }: Done<Readonly<Record<string, unknown>> | null>,
    onlyLeaves: boolean,
  ): Answer {
    if (value === null) return { wake: [], reply: null, nowMs: undefined };
    const nowMs = timeOf(value);
    if (nowMs !== undefined) this.#collection.serverClock.learn(nowMs, sentAt.ms);
    const { revoked } = value;
    if (onlyLeaves) return { wake: readWake(value['wake']), reply: null, nowMs, revoked };
    const reply = judged(seats, operations, readReply(seats, value), value);
    return { wake: reply.wake, reply, nowMs, revoked };
  }
}

function operationToSend(pending: Pending): Operation {
  const { operation } = pending;
  pending.sent ??= 'make' in operation ? { type: operation.type, request: operation.make() } : operation;
  return pending.sent;
}
