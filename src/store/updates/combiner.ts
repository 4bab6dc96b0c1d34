// Folder `updates`: the operations of this process on lock documents, combined and sent.

import { endOfTurn } from '../../clock.js';
import type { Clock, Moment } from '../../clock.js';
import type { Fields } from '../../protocol/expressions.js';
import type { KindRules, StoredFields } from '../../protocol/kind-rules.js';
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
import type { Unconfirmed, Withdrawn, WithoutGroup } from './commit.js';
import type { Committer } from './committer.js';
import { Lane, idsOf } from './lane.js';
import type { QueuedOperation, UnsentRequest } from './lane.js';
import type { LockCollection } from '../lock-collection.js';
import { UncontendedHint } from './uncontended-hint.js';
import type { Guess } from './uncontended-hint.js';
import type { Done, Outcome } from '../outcome.js';
import { concernsOperations, refusalFor } from './refusal.js';

/** The answer to an update. `reply` is `null` if the update contained only leaves, or if there is no document. */
export interface Answer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /**
   * The server's time of the update, or of the read that followed it; `undefined` if there is no document, or if a
   * leave was confirmed without a read.
   */
  readonly nowMs: number | undefined;
  /**
   * Whether this is the answer to a second copy of the operation, after a first one (its fast path) that may have been
   * applied.
   */
  readonly isSecondCopy: boolean;
  /**
   * The stored records of revocations, unchecked, if a whole transition contained a leave; `revocationOf` reads them.
   */
  readonly revoked?: unknown;
}

export interface Submission {
  /** Never settles if the operation was taken back. */
  readonly outcome: Promise<Outcome<Answer>>;
  /**
   * Takes the operation back. Returns true if the operation has had no effect and never will have one: it was not sent,
   * or the server refused each update that contained it.
   */
  withdraw(): boolean;
}

export interface SubmitOptions {
  /** Whether to take over an idle document of another kind first. */
  readonly takingOver?: boolean;
  /** Whether an earlier copy of the operation may have been sent, so that the document may show its effect already. */
  readonly isRepeat?: boolean;
}

interface Pending extends QueuedOperation {
  readonly settle: (outcome: Outcome<Answer>) => void;
  readonly isRepeat: boolean;
  readonly submittedMs: number;
  /** The operation as it was first sent. A later copy from the combiner is the same. */
  sent?: Operation;
  /** Takes the operation back while the committer has it and has not sent it. */
  withdraw?: (() => boolean) | undefined;
}

type Batch = readonly [Pending, ...Pending[]];

/**
 * Sends the operations on each document one update at a time: conflicting writers of one document can stall the whole
 * server (E24). Operations that arrive during an update go together into the next updates, in the order of their lane.
 * So a hundred local callers cost a few writes.
 *
 * An operation may be alone in its lane, on a lock that nobody else seems to use. Then the committer gets its *fast
 * path*: a short update that applies only if nobody else uses the lock. The committer groups fast paths across
 * documents. If the answer does not show that the fast path was applied, the combiner sends the operation again as a
 * whole transition. A repeat has no fast path, and neither have operations that share an update.
 *
 * The server may refuse an update because of one operation in it. The combiner then sends the operations again in
 * smaller updates, until that operation is alone. No other operation fails with it.
 */
export class Combiner {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #onAnswer: (name: string, answer: Answer, sentAt: Moment) => void;
  readonly #lanes = new Map<string, Lane<Pending>>();
  readonly #hint = new UncontendedHint();
  readonly #committer: Committer;
  readonly #traces: { readonly keepsTraces: boolean };

  /**
   * @param onAnswer - Gets every answer before the callers of its operations do, because an answer may concern other
   *   waits of this process.
   * @param traces - Whether the process is instrumented now. Default: never.
   */
  constructor(
    collection: LockCollection,
    committer: Committer,
    process: string,
    clock: Clock,
    onAnswer: (name: string, answer: Answer, sentAt: Moment) => void,
    traces: { readonly keepsTraces: boolean } = { keepsTraces: false },
  ) {
    this.#collection = collection;
    this.#process = process;
    this.#clock = clock;
    this.#onAnswer = onAnswer;
    this.#committer = committer;
    this.#traces = traces;
  }

  submit(
    name: string,
    rules: KindRules,
    operation: Operation | UnsentRequest,
    { takingOver = false, isRepeat = false }: SubmitOptions = {},
  ): Submission {
    let settle!: (outcome: Outcome<Answer>) => void;
    const outcome = new Promise<Outcome<Answer>>((resolve) => {
      settle = resolve;
    });
    const submittedMs = this.#clock.nowMs();
    const pending: Pending = { rules, operation, takingOver, settle, isRepeat, submittedMs };
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(name, lane);
      lane.add(pending);
      void this.#run(name, lane);
    } else lane.add(pending);
    const withdraw = (): boolean =>
      this.#lanes.get(name)?.withdraw(pending) === true || pending.withdraw?.() === true;
    return { outcome, withdraw };
  }

  async #run(name: string, lane: Lane<Pending>): Promise<void> {
    for (;;) {
      // Callers whose operations the last update settled may submit more in this turn. The new operations join the next
      // update.
      await endOfTurn(this.#clock);
      const taken = lane.take();
      const [first, ...others] = taken;
      if (first === undefined) break;
      const beganMs = this.#clock.nowMs();
      const outcome = await this.#send(name, [first, ...others]);
      if (outcome.type === 'withdrawn') continue;
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
   * The share of the time bound that a call to the store took. The wait before the sending is left out if the moment of
   * the sending is known.
   */
  #shareOf(outcome: Outcome<Answer>, beganMs: number): number {
    const sentMs = outcome.type === 'done' ? outcome.sentAt.ms : beganMs;
    return (this.#clock.nowMs() - sentMs) / this.#collection.boundMs;
  }

  async #send(name: string, batch: Batch): Promise<Outcome<Answer> | Withdrawn> {
    try {
      const guess = this.#takeGuess(name, batch);
      if (guess === undefined) return await this.#sendWhole(name, batch, false);
      const committed = await this.#commit(name, batch[0], guess);
      if (committed.type === 'without group') return await this.#sendWhole(name, batch, false);
      if (committed.type !== 'unconfirmed') return committed;
      this.#hint.contended(name);
      return await this.#sendWhole(name, batch, committed.maybeApplied);
    } catch (error) {
      // The code that handles the answer has thrown. The callers must not wait for ever, so they get an unknown
      // outcome.
      return { type: 'unknown', error, maybeApplied: true };
    }
  }

  /** Which fast path to try for this batch; `undefined` if it has none, or if it would probably not apply. */
  #takeGuess(
    name: string,
    [{ operation, takingOver, isRepeat, submittedMs }, ...others]: Batch,
  ): Guess | undefined {
    if (others.length > 0 || takingOver || isRepeat) return undefined;
    const [id] = idsOf(operation);
    return this.#hint.take(name, { type: operation.type, id }, submittedMs);
  }

  async #commit(
    name: string,
    pending: Pending,
    guess: Guess,
  ): Promise<Outcome<Answer> | Unconfirmed | Withdrawn | WithoutGroup> {
    const make = (): FastPath => {
      const path = fastPath(pending.rules, operationToSend(pending), { creates: guess === 'new' });
      if (path === undefined) throw new TypeError(`a ${pending.operation.type} has no fast path`);
      return path;
    };
    const isUrgent = pending.operation.type === 'leave';
    const commit = this.#committer.commit(name, make, { isUrgent, onlyInGroup: guess === 'long alone' });
    pending.withdraw = () => commit.withdraw();
    const committed = await commit.outcome;
    pending.withdraw = undefined;
    if (committed.type !== 'done') {
      if (committed.type === 'unknown') this.#hint.contended(name);
      return committed;
    }
    this.#hint.applied(name, operationToSend(pending), this.#clock.nowMs());
    return this.#answered(name, { ...committed, value: { ...committed.value, isSecondCopy: false } });
  }

  /** @param isSecondCopy - Whether the fast path of the only operation was sent before, and may have been applied. */
  async #sendWhole(name: string, batch: Batch, isSecondCopy: boolean): Promise<Outcome<Answer>> {
    const [{ rules, takingOver }] = batch;
    const onlyLeaves = batch.every(({ operation: { type } }) => type === 'leave');
    let operations: readonly Operation[] = [];
    const outcome = await this.#collection.transition(name, () => {
      operations = batch.map(operationToSend);
      return {
        pipeline: transition(rules, operations, { takingOver, keepsTraces: this.#traces.keepsTraces }),
        fields: onlyLeaves ? LEAVE_PROJECTION : this.#projection(rules, operations),
        upsert: mayCreate(operations),
      };
    });
    if (outcome.type === 'refused') return { ...outcome, isSecondCopy };
    if (outcome.type === 'unknown') {
      return { ...outcome, maybeApplied: outcome.maybeApplied || isSecondCopy };
    }
    const answer = { ...readAnswer(rules, operations, outcome.value, onlyLeaves), isSecondCopy };
    this.#hint.learn(name, operations, answer.reply, this.#clock.nowMs());
    return this.#answered(name, { ...outcome, value: answer });
  }

  #answered(name: string, done: Done<Answer>): Done<Answer> {
    const { value: answer, sentAt } = done;
    if (answer.nowMs !== undefined) this.#collection.serverClock.learn(answer.nowMs, sentAt.ms);
    this.#onAnswer(name, answer, sentAt);
    return done;
  }

  #projection(rules: KindRules, operations: readonly Operation[]): Fields {
    // A process that may pass on a kept seat of this lock has to know whether other processes wait. So for a kind whose
    // kept seats are passed on, the reply counts the waiters of this process, unless the update has only requests
    // without `keeps`.
    const mayKeep = operations.some(
      (operation) => !('request' in operation) || operation.request.keeps !== undefined,
    );
    const counted = rules.keeping === 'passed' && mayKeep ? this.#process : undefined;
    return {
      ...replyProjection(rules, operations.flatMap(idsOf), counted),
      ...verdictProjection(rules, operations),
      ...(operations.some(({ type }) => type === 'leave') ? REVOKED_PROJECTION : {}),
    };
  }
}

function readAnswer(
  rules: KindRules,
  operations: readonly Operation[],
  value: StoredFields | null,
  onlyLeaves: boolean,
): Omit<Answer, 'isSecondCopy'> {
  if (value === null) return { wake: [], reply: null, nowMs: undefined };
  const nowMs = timeOf(value);
  const { revoked } = value;
  if (onlyLeaves) return { wake: readWake(value['wake']), reply: null, nowMs, revoked };
  const reply = judged(rules, operations, readReply(rules, value), value);
  return { wake: reply.wake, reply, nowMs, revoked };
}

function operationToSend(pending: Pending): Operation {
  const { operation } = pending;
  pending.sent ??= 'make' in operation ? { type: operation.type, request: operation.make() } : operation;
  return pending.sent;
}
