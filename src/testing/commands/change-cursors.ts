import type { Member } from '../replica-set/member.js';
import type { Namespace } from '../replica-set/documents.js';
import { answered, failed } from '../replica-set/reply.js';
import type { Reply, Respond } from '../replica-set/reply.js';
import { project } from '../server/projections.js';
import { matches } from '../server/queries.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { isDocument, toDriver } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import type { Time } from '../time/time.js';
import { eventOf, invalidation, tokenOf } from './change-events.js';

/** The `$match` and `$project` stages of a change stream. */
type Stages = readonly DocumentValue[];

class ChangeCursor {
  readonly id: number;
  readonly namespace: Namespace;
  readonly #member: Member;
  readonly #time: Time;
  readonly #stages: Stages;
  /** The index of the next entry of the oplog to look at. */
  #position: number;
  #isInvalidated = false;
  /** Called when this cursor reads the drop of its collection. Only the event `invalidate` follows. */
  readonly #invalidated: () => void;
  /** Ends the request that waits for events; `undefined`: no request waits. */
  #end: ((reply?: Reply) => void) | undefined;

  constructor(
    id: number,
    member: Member,
    time: Time,
    namespace: Namespace,
    stages: Stages,
    invalidated: () => void,
  ) {
    this.id = id;
    this.namespace = namespace;
    this.#member = member;
    this.#time = time;
    this.#stages = stages;
    this.#invalidated = invalidated;
    this.#position = member.committedLength;
  }

  /** Answers with the new events that a majority has. If there are none, waits for one, for at most `awaitMs` ms. */
  next(awaitMs: number, batch: 'firstBatch' | 'nextBatch', respond: Respond): void {
    const events = this.#take();
    if (events.length > 0 || awaitMs === 0) {
      respond(this.#answer(events, batch));
      return;
    }
    const unsubscribe = this.#member.onCommitted(() => {
      const found = this.#take();
      if (found.length > 0) this.#end?.(this.#answer(found, batch));
    });
    this.#end = (reply) => {
      this.#end = undefined;
      timer.cancel();
      unsubscribe();
      respond(reply ?? this.#answer([], batch));
    };
    const timer = this.#time.at(this.#time.nowMs() + awaitMs, () => this.#end?.());
  }

  fail(reply: Reply): void {
    this.#end?.(reply);
  }

  #answer(events: readonly DocumentValue[], batch: string): Reply {
    const postBatchResumeToken = toDriver(tokenOf(this.#position));
    const id = this.#isInvalidated ? 0 : this.id;
    return answered({
      cursor: { id, ns: this.namespace, [batch]: events.map(toDriver), postBatchResumeToken },
    });
  }

  #take(): readonly DocumentValue[] {
    const events: DocumentValue[] = [];
    while (this.#position < this.#member.committedLength && !this.#isInvalidated) {
      const index = this.#position;
      const entry = this.#member.entryAt(index);
      this.#position += 1;
      if (entry === undefined) break;
      const event = eventOf(entry, index, this.namespace);
      if (event === undefined) continue;
      events.push(...this.#shown(event));
      if (entry.change.type === 'drop') {
        this.#isInvalidated = true;
        this.#invalidated();
        events.push(...this.#shown(invalidation(index)));
      }
    }
    return events;
  }

  /** The event as the stages show it; empty if the stages do not select it. */
  #shown(event: DocumentValue): readonly DocumentValue[] {
    let shown = event;
    for (const stage of this.#stages) {
      const [[name, argument] = ['', null]] = [...stage];
      if (!isDocument(argument)) throw new NotSimulatedError(`the stage ${name} of a change stream`);
      if (name === '$match') {
        if (!matches(shown, argument, this.#member.nowMs)) return [];
      } else if (name === '$project') shown = project(shown, argument, this.#member.nowMs);
      else throw new NotSimulatedError(`the stage ${name} of a change stream`);
    }
    return [shown];
  }
}

export class ChangeCursors {
  readonly #member: Member;
  readonly #time: Time;
  readonly #open = new Map<number, ChangeCursor>();
  #lastId = 0;

  constructor(member: Member, time: Time) {
    this.#member = member;
    this.#time = time;
  }

  get count(): number {
    return this.#open.size;
  }

  open(namespace: Namespace, stages: readonly Value[]): ChangeCursor {
    const documents = stages.filter(isDocument);
    const id = (this.#lastId += 1);
    const cursor = new ChangeCursor(id, this.#member, this.#time, namespace, documents, () => {
      this.#open.delete(id);
    });
    this.#open.set(id, cursor);
    return cursor;
  }

  get(id: number): ChangeCursor | undefined {
    return this.#open.get(id);
  }

  kill(id: number): void {
    const cursor = this.#open.get(id);
    this.#open.delete(id);
    cursor?.fail(CURSOR_KILLED);
  }

  killAll(): void {
    for (const id of [...this.#open.keys()]) this.kill(id);
  }
}

export const CURSOR_KILLED: Reply = failed(43, 'CursorNotFound', 'the cursor was killed');
