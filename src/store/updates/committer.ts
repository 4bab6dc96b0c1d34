import type { Clock, Moment, Timer } from '../../clock.js';
import type { Fields, Stage } from '../../protocol/expressions.js';
import type { StoredFields } from '../../protocol/kind-rules.js';
import type { FastPath } from '../../protocol/pipeline/fast-path.js';
import type { Commit, CommitOptions, Committed } from './commit.js';
import { GroupPace } from './group-pace.js';
import { updatesOf } from './group-updates.js';
import type { LockCollection } from '../lock-collection.js';
import { codeOf } from '../outcome.js';
import type { Outcome, Refused, Unknown } from '../outcome.js';

/**
 * The most statements in one group. A statement is the update for one operation, and a group is a command with several
 * statements. In a larger group, each operation would wait longer for its answer.
 */
const MAX_STATEMENTS = 64;

type Store = Pick<
  LockCollection,
  'isSharded' | 'boundMs' | 'unanswered' | 'transition' | 'updateEach' | 'updateMany' | 'readAfterUpdate'
>;

interface Statement {
  readonly name: string;
  /** Makes the update just before it is sent, because the times in it are counted from the sending. */
  readonly make: () => FastPath;
  readonly onlyInGroup: boolean;
  /** If the statement is in no group by this time, on the clock of this process, it is given up. */
  readonly sendByMs: number;
  readonly settle: (committed: Committed) => void;
}

interface Sent extends Statement {
  readonly path: FastPath;
}

export interface UpdateAndRead {
  /** What a local read showed after the update. It may show later updates that no majority has acknowledged. */
  readonly documents: readonly StoredFields[];
  readonly updateSentAt: Moment;
}

/**
 * Sends updates of several documents together. Extensions of leases come as a batch, which goes at once. Requests and
 * leaves that have a fast path come one by one, and go in groups. The *statement* of such an operation is its fast
 * path: a short update that applies only if nobody else uses the lock. Only the first copy of an operation becomes a
 * statement.
 *
 * While fewer than two groups are in flight, statements start at the end of the turn in which they come. Statements
 * that come while two groups are in flight wait for the next group (`GroupPace`). Statements that start at the same
 * moment go together in one command, up to 64 of them. A statement that goes alone is a `findAndModify`, whose answer
 * shows the document.
 *
 * The server counts the statements that changed their document:
 *
 * - If it counts all statements, each was applied. A leave is then confirmed without a read.
 * - Otherwise, and for requests, the committer reads the documents. A statement is confirmed if its document shows the
 *   attempt id of the operation.
 * - If no statement failed and as many are confirmed as were counted, the others were certainly not applied.
 *
 * The combiner sends each operation that is not confirmed again alone, as a whole transition. So a refused, corrupt or
 * contended document costs the other statements of its group only time, which is bounded.
 *
 * The read may be local, because a majority has acknowledged the update. The read proves something only about a first
 * copy: an isolated old primary acknowledges an update that changes nothing, and a read from that primary would show
 * the effect of an earlier copy, which may be rolled back.
 */
export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Leaves go ahead of requests: until a leave is applied, its seat is taken although nobody uses it. */
  readonly #urgent = new Set<Statement>();
  readonly #others = new Set<Statement>();
  readonly #pace = new GroupPace();
  #isStartQueued = false;
  #timer: Timer | undefined;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  commit(name: string, make: () => FastPath, { isUrgent, onlyInGroup }: CommitOptions): Commit {
    let settle!: (committed: Committed) => void;
    const outcome = new Promise<Committed>((resolve) => {
      settle = resolve;
    });
    const sendByMs = this.#clock.nowMs() + this.#store.boundMs;
    const statement: Statement = { name, make, onlyInGroup, sendByMs, settle };
    const queue = isUrgent ? this.#urgent : this.#others;
    queue.add(statement);
    this.#startSoon();
    const withdraw = (): boolean => {
      if (!queue.delete(statement)) return false;
      settle({ type: 'withdrawn' });
      return true;
    };
    return { outcome, withdraw };
  }

  /**
   * Applies one pipeline to these documents, and reads them. The update goes at once, ahead of the waiting statements
   * and beside the groups in flight: a lease that is not extended in time is lost.
   *
   * @param boundMs - The time for the update and the read together. After a slow update, the read gets a little more.
   */
  async updateAndRead(
    names: readonly string[],
    pipeline: readonly Stage[],
    projection: Fields,
    boundMs: number,
  ): Promise<Outcome<UpdateAndRead>> {
    const endMs = this.#clock.nowMs() + boundMs;
    const updated = await this.#store.updateMany(names, pipeline, boundMs);
    if (updated.type !== 'done') return updated;
    const read = await this.#store.readAfterUpdate(names, projection, endMs);
    if (read.type !== 'done') return read;
    return { ...read, value: { documents: read.value, updateSentAt: updated.sentAt } };
  }

  /** Statements of one turn of the event loop start together, so that they share a group. */
  #startSoon(): void {
    if (this.#isStartQueued) return;
    this.#isStartQueued = true;
    this.#clock.atEndOfTurn(() => {
      this.#isStartQueued = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#pace.mayStart(this.#clock.nowMs())) {
      const [first, ...others] = this.#take();
      if (first === undefined) return;
      void this.#run([first, ...others]);
    }
    this.#watchQueue();
  }

  #take(): readonly Statement[] {
    const group: Statement[] = [];
    for (const queue of [this.#urgent, this.#others]) {
      for (const statement of queue) {
        if (group.length >= MAX_STATEMENTS) return group;
        queue.delete(statement);
        group.push(statement);
      }
    }
    return group;
  }

  /** While statements wait, one timer starts further groups beside slow ones, and gives up overdue statements. */
  #watchQueue(): void {
    const [urgent] = this.#urgent;
    const [other] = this.#others;
    if ((urgent === undefined && other === undefined) || this.#timer !== undefined) return;
    const sendByMs = Math.min(urgent?.sendByMs ?? Infinity, other?.sendByMs ?? Infinity);
    this.#timer = this.#clock.at(Math.min(this.#pace.nextStartMs, sendByMs), () => {
      this.#timer = undefined;
      this.#giveUpOverdue();
      this.#start();
    });
  }

  #giveUpOverdue(): void {
    const nowMs = this.#clock.nowMs();
    for (const queue of [this.#urgent, this.#others]) {
      for (const statement of queue) {
        if (statement.sendByMs > nowMs) break;
        queue.delete(statement);
        const error = this.#store.unanswered(this.#store.boundMs);
        statement.settle({ type: 'unknown', error, maybeApplied: false });
      }
    }
  }

  async #run(group: readonly [Statement, ...Statement[]]): Promise<void> {
    this.#pace.started(this.#clock.nowMs());
    try {
      if (group.length === 1) await this.#sendAlone(group[0]);
      else await this.#sendTogether(group);
    } catch (error) {
      // The code that handles the answer has thrown. The callers must not wait for ever, so every statement gets an
      // outcome.
      for (const { settle } of group) settle({ type: 'unknown', error, maybeApplied: true });
    } finally {
      this.#pace.ended();
      this.#timer?.cancel();
      this.#timer = undefined;
      // Callers that this group has answered may give more statements in this turn. Such statements start together.
      this.#startSoon();
    }
  }

  async #sendAlone({ name, make, onlyInGroup, settle }: Statement): Promise<void> {
    if (onlyInGroup) {
      settle({ type: 'without group' });
      return;
    }
    let path: FastPath | undefined;
    const outcome = await this.#store.transition(name, () => (path = make()));
    if (outcome.type !== 'done') {
      settle(outcome);
      return;
    }
    const answer = outcome.value === null ? undefined : path?.read(outcome.value);
    settle(
      answer === undefined ? { type: 'unconfirmed', maybeApplied: false } : { ...outcome, value: answer },
    );
  }

  async #sendTogether(group: readonly Statement[]): Promise<void> {
    const sentMs = this.#clock.nowMs();
    const endMs = sentMs + this.#store.boundMs;
    let sent: readonly Sent[] = [];
    const updated = await this.#store.updateEach(() => {
      sent = group.map((statement) => ({ ...statement, path: statement.make() }));
      return updatesOf(sent, this.#store.isSharded);
    }, this.#pace.boundMs(this.#store.boundMs));
    this.#pace.took(this.#clock.nowMs() - sentMs);
    if (updated.type !== 'done') {
      // Some statements may have been applied before the server refused the group. The others may succeed when the
      // combiner sends each of them alone.
      const isRefused = updated.type === 'refused' && updated.byServer;
      for (const { settle } of group) {
        settle(isRefused ? { type: 'unconfirmed', maybeApplied: true } : failureOfGroup(updated));
      }
      return;
    }
    const { count, isExact } = updated.value;
    const areAllApplied = count === sent.length;
    const unread: Sent[] = [];
    for (const statement of sent) {
      const { counted } = statement.path;
      if (areAllApplied && counted !== undefined) statement.settle({ ...updated, value: counted });
      else unread.push(statement);
    }
    const unreadChanges = isExact ? count - (sent.length - unread.length) : Infinity;
    if (unread.length > 0) await this.#readAndSettle(unread, unreadChanges, endMs);
  }

  /** @param changes - How many of these statements changed their document; `Infinity` if that is not known. */
  async #readAndSettle(unread: readonly Sent[], changes: number, endMs: number): Promise<void> {
    const fields = unread.reduce<Fields>((merged, { path }) => ({ ...merged, ...path.fields }), {});
    const names = unread.map(({ name }) => name);
    const read = await this.#store.readAfterUpdate(names, { ...fields, _id: 1 }, endMs);
    if (read.type !== 'done') {
      for (const { settle } of unread) settle({ type: 'unknown', error: read.error, maybeApplied: true });
      return;
    }
    const documents = new Map(read.value.map((document) => [document['_id'], document]));
    const answers = unread.map(({ name, path }) => {
      const document = documents.get(name);
      return document === undefined ? undefined : path.answerFromRead(document);
    });
    const maybeApplied = answers.filter((answer) => answer !== undefined).length < changes;
    for (const [index, { settle }] of unread.entries()) {
      const { [index]: answer } = answers;
      settle(answer === undefined ? { type: 'unconfirmed', maybeApplied } : { ...read, value: answer });
    }
  }
}

/**
 * The outcome of a group that failed. An error of the server may say that one update was not applied. The server may
 * still have applied other updates of the group.
 */
const failureOfGroup = (failure: Refused | Unknown): Refused | Unknown =>
  failure.type === 'unknown' && codeOf(failure.error) !== undefined
    ? { ...failure, maybeApplied: true }
    : failure;
