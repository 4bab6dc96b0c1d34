import type { Clock, Moment } from '../clock.js';
import type { Fields } from '../protocol/expressions.js';
import type { Seats } from '../protocol/seats.js';
import { LEAVE_PROJECTION, readReply, replyProjection } from '../protocol/reply.js';
import type { Reply } from '../protocol/reply.js';
import { shortForm } from '../protocol/short-form.js';
import { readWake } from '../protocol/wake.js';
import { mayCreate, transition } from '../protocol/transition.js';
import type { Operation } from '../protocol/operation.js';
import type { LockCollection } from './lock-collection.js';
import { SoleUse } from './sole-use.js';
import type { Done, Outcome } from './outcome.js';

/** What an update left behind: what `wake` says in any case, the rest unless all it did was to leave. */
export interface Answer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /** False: there is no document, and nothing in the update could create one. */
  readonly exists: boolean;
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

interface Pending {
  readonly seats: Seats;
  readonly operation: Operation;
  readonly adopting: boolean;
  readonly settle: (outcome: Outcome<Answer>) => void;
}

/** More operations than this go into the next update: each costs up to six stages, and a pipeline has at most 1,000. */
const MAX_OPERATIONS = 100;

/**
 * One update in flight per document and process. Operations that arrive meanwhile go together into the next one, in
 * their order (flat combining): a hundred local callers cost a few writes, and a hot document has at most one writer
 * per process, because conflicting writers stall the whole server (E24).
 */
export class Combiner {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #onAnswer: (name: string, answer: Answer, sentAt: Moment) => void;
  readonly #lanes = new Map<string, Pending[]>();
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
    operation: Operation,
    { adopting = false }: SubmitOptions = {},
  ): Submission {
    let settle!: (outcome: Outcome<Answer>) => void;
    const outcome = new Promise<Outcome<Answer>>((resolve) => {
      settle = resolve;
    });
    const pending: Pending = { seats, operation, adopting, settle };
    const lane = this.#lanes.get(name);
    if (lane !== undefined) {
      lane.push(pending);
    } else {
      const opened = [pending];
      this.#lanes.set(name, opened);
      void this.#run(name, opened);
    }
    return { outcome, withdraw: () => this.#withdraw(name, pending) };
  }

  #withdraw(name: string, pending: Pending): boolean {
    const lane = this.#lanes.get(name);
    const index = lane?.indexOf(pending) ?? -1;
    if (index >= 0) lane?.splice(index, 1);
    return index >= 0;
  }

  async #run(name: string, lane: Pending[]): Promise<void> {
    for (;;) {
      // Whoever was settled by the last update asks for more in the same turn, and that goes along with what waits.
      await endOfTurn();
      if (lane.length === 0) break;
      const batch = takeBatch(lane);
      const outcome = await this.#send(name, batch);
      for (const { settle } of batch) settle(outcome);
    }
    this.#lanes.delete(name);
  }

  async #send(name: string, batch: readonly [Pending, ...Pending[]]): Promise<Outcome<Answer>> {
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
      const answer = this.#read(seats, outcome, onlyLeaves);
      this.#soleUse.learn(name, operations, answer.reply, this.#clock.nowMs());
      this.#onAnswer(name, answer, outcome.sentAt);
      return { ...outcome, value: answer };
    } catch (error) {
      // An answer that cannot be read: whoever waits for it must not wait for ever.
      return { type: 'unknown', error, maybeApplied: true };
    }
  }

  #projection(seats: Seats, operations: readonly Operation[]): Fields {
    const keeps = operations.some(
      (operation) => 'request' in operation && operation.request.keeps !== undefined,
    );
    return replyProjection(seats, this.#process, operations.flatMap(idsOf), keeps);
  }

  /** Where nobody else is likely to be, the short form is tried first; `undefined`: it is not, or did not apply. */
  async #sendShort(
    name: string,
    [{ seats, operation, adopting }, ...others]: readonly [Pending, ...Pending[]],
  ): Promise<Outcome<Answer> | undefined> {
    const isLikely = this.#soleUse.expect(name, operation, this.#clock.nowMs());
    const form = isLikely && !adopting && others.length === 0 ? shortForm(seats, operation) : undefined;
    if (form === undefined) return undefined;
    const outcome = await this.#collection.transition(name, form.pipeline, form.fields, false);
    if (outcome.type !== 'done') return outcome;
    const short = outcome.value === null ? undefined : form.read(outcome.value);
    if (short === undefined) return undefined;
    const { reply, wake } = short;
    const { sentAt } = outcome;
    if (reply !== null) this.#collection.serverClock.learn(reply.nowMs, sentAt.ms);
    this.#soleUse.applied(name, operation, this.#clock.nowMs());
    const answer: Answer = { wake, reply, exists: true };
    this.#onAnswer(name, answer, sentAt);
    return { ...outcome, value: answer };
  }

  #read(seats: Seats, outcome: Done<Readonly<Record<string, unknown>> | null>, onlyLeaves: boolean): Answer {
    const { value, sentAt } = outcome;
    if (value === null) return { wake: [], reply: null, exists: false };
    if (onlyLeaves) return { wake: readWake(value['wake']), reply: null, exists: true };
    const reply = readReply(seats, value);
    this.#collection.serverClock.learn(reply.nowMs, sentAt.ms);
    return { wake: reply.wake, reply, exists: true };
  }
}

const endOfTurn = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });

function idsOf(operation: Operation): readonly string[] {
  if ('request' in operation) return [operation.request.id];
  if ('ids' in operation) return operation.ids;
  return 'id' in operation ? [operation.id] : [];
}

/** The next operations of one kind of lock, from the front; the others wait for an update of their own. */
function takeBatch(lane: Pending[]): readonly [Pending, ...Pending[]] {
  const [first] = lane;
  if (first === undefined) throw new Error('an empty lane is never run');
  const differs = lane.findIndex(
    ({ seats, adopting }) => seats !== first.seats || adopting !== first.adopting,
  );
  const count = Math.min(differs < 0 ? lane.length : differs, MAX_OPERATIONS);
  const [head = first, ...rest] = lane.splice(0, count);
  return [head, ...rest];
}
