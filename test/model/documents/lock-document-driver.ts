import { createHash, randomBytes } from 'node:crypto';
import { BSON, MongoClient, Timestamp } from 'mongodb';
import type { Collection, Db, Document, FindCursor } from 'mongodb';

import type { Fields, Stage } from '../../../src/protocol/expressions.js';
import { extension } from '../../../src/protocol/pipeline/extension.js';
import { wellFormedProjection } from '../../../src/protocol/pipeline/verdict.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import type { Operation } from '../../../src/protocol/operation.js';
import { readReply, replyProjection } from '../../../src/protocol/replies/reply.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import type { KindRules } from '../../../src/protocol/kind-rules.js';
import { enteringTogether, vacantDocument } from '../../../src/protocol/pipeline/entering-together.js';
import { fastPath, leaving } from '../../../src/protocol/pipeline/fast-path.js';
import type { Entering, FastPath, FastPathAnswer } from '../../../src/protocol/pipeline/fast-path.js';
import { mayCreate, transition } from '../../../src/protocol/pipeline/transition.js';
import { judged, verdictProjection } from '../../../src/protocol/pipeline/verdict.js';
import { ALL_SEATS } from './lock-kinds.js';
import { fieldOf } from '../../../src/testing/judge/lock-version.js';

/** A stored lock document, with values of any type. */
export type StoredDocument = Readonly<Record<string, unknown>> & { readonly _id: string };

export interface Answer {
  /** The server's time of the update. */
  readonly nowMs: number;
  readonly stored: StoredDocument;
  readonly reply: Reply;
}

/** The outcome of a fast path. */
export interface ShortOutcome {
  readonly nowMs: number;
  readonly stored: StoredDocument;
  /** `undefined`: the fast path did not apply. */
  readonly answer: FastPathAnswer | undefined;
}

export interface SendOptions {
  /** The process that the reply is projected for. */
  readonly process?: string;
  readonly takingOver?: boolean;
  /** Whether the reply counts the waiters of the process, as a process that keeps seats wants it. */
  readonly counts?: boolean;
}

interface LockStub extends Document {
  readonly _id: string;
}

/**
 * Runs the pipelines of the protocol on a real server, in a database of its own, without the store around them.
 *
 * One member acknowledges the writes, because the tests are about what an update does and not about its durability.
 */
export class LockDocumentDriver implements AsyncDisposable {
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #rules: KindRules;
  /** No document of this driver was written before. The server and this process share a clock. */
  readonly #since = new Timestamp({ t: Math.floor(Date.now() / 1_000) - 1, i: 0 });
  #names = 0;
  #requestsSent = 0;

  constructor(uri: string, rules: KindRules = mutexRules) {
    this.#rules = rules;
    this.#client = new MongoClient(uri, { w: 1, journal: false, maxPoolSize: 16 });
    this.#db = this.#client.db(`pipelines-${randomBytes(6).toString('hex')}`);
  }

  get collection(): Collection<LockStub> {
    return this.#db.collection<LockStub>('locks');
  }

  get namespace(): string {
    return this.collection.namespace;
  }

  /** The name of a lock that no other test uses. */
  newName(): string {
    return `lock-${(this.#names += 1)}`;
  }

  /** Applies these operations in one update; `null` if there is no document and nothing that would create one. */
  async send(
    name: string,
    operations: readonly Operation[],
    { process = 'p0', takingOver = false, counts = false }: SendOptions = {},
  ): Promise<Answer | null> {
    const rules = this.#rules;
    const pipeline = transition(rules, operations, { takingOver });
    const fields = {
      ...replyProjection(rules, operations.flatMap(idsOf), counts ? process : undefined),
      ...verdictProjection(rules, operations),
    };
    const value = await this.#update(name, pipeline, fields, mayCreate(operations));
    if (value === null) return null;
    const { stored, ...projected } = value;
    const reply = judged(rules, operations, readReply(rules, projected), projected);
    return { nowMs: reply.nowMs, stored: stored as StoredDocument, reply };
  }

  /** Like `send`, but there must be a document afterwards. */
  async apply(name: string, operations: readonly Operation[], options?: SendOptions): Promise<Answer> {
    const answer = await this.send(name, operations, options);
    if (answer === null) throw new Error(`there is no document ${name}`);
    return answer;
  }

  /**
   * Sends the fast path of an operation; `undefined` if it has none, or there is no document. A leave, and every second
   * request, is sent with the operation of another attempt, as for several documents.
   *
   * @param creates - Create the document if there is none.
   */
  async sendShort(name: string, operation: Operation, creates = false): Promise<ShortOutcome | undefined> {
    const form = fastPath(this.#rules, operation, { creates });
    if (form === undefined) return undefined;
    const pipeline = await this.#pipelineOf(name, form);
    const value = await this.#update(name, pipeline, { ...form.fields, now: '$$NOW' }, form.upsert);
    if (value === null) return undefined;
    const { stored, ...projected } = value;
    const nowMs = (projected['now'] as Date).getTime();
    return { nowMs, stored: stored as StoredDocument, answer: form.read(projected) };
  }

  async #pipelineOf(name: string, { operation, pipeline, upsert }: FastPath): Promise<readonly Stage[]> {
    if (operation.type === 'leave') return leaving(this.#rules, ['wother', operation.id]);
    this.#requestsSent += 1;
    if (this.#requestsSent % 2 === 0) return pipeline;
    if (upsert) {
      const creation = { $setOnInsert: vacantDocument(this.#rules, operation) };
      await this.collection.updateOne({ _id: name }, creation, { upsert });
    }
    const { request } = operation;
    const other: Entering = { ...operation, request: { ...request, id: 'wother', label: '$other' } };
    return enteringTogether(this.#rules, [
      { name: `${name}-other`, operation: other },
      { name, operation },
    ]);
  }

  /** Applies the batched extension of these kinds to one document, and returns the server's time of it. */
  async extend(
    name: string,
    ids: readonly string[],
    leaseMs: number,
    retentionMs: number,
    kinds: readonly KindRules[] = ALL_SEATS,
  ): Promise<{ readonly nowMs: number; readonly stored: StoredDocument } | null> {
    const pipeline = extension(kinds, ids, leaseMs, retentionMs);
    const value = await this.#update(name, pipeline, { now: '$$NOW' }, false);
    if (value === null) return null;
    return { nowMs: (value['now'] as Date).getTime(), stored: value['stored'] as StoredDocument };
  }

  /** Applies several pipelines in one command, so that all have the same server time. */
  async inOneMillisecond(
    name: string,
    ...pipelines: readonly (readonly Stage[])[]
  ): Promise<StoredDocument | null> {
    await this.#db.command({
      update: 'locks',
      updates: pipelines.map((pipeline) => ({ q: { _id: name }, u: pipeline })),
      writeConcern: { w: 1, j: false },
    });
    return this.read(name);
  }

  /** Changes the document outside the protocol. */
  async tamper(name: string, change: Document[] | Document): Promise<void> {
    await this.collection.updateOne({ _id: name }, change);
  }

  /** Moves the expiries of leases and places; by default into the past, without an update that drops them. */
  async lapse(
    name: string,
    ids: readonly string[],
    to: Date | '$$NOW' = new Date(Date.now() - 3_600_000),
  ): Promise<void> {
    const stored = await this.read(name);
    const stages = ids.map((id): Document => {
      const field = fieldOf(stored ?? { queue: {} }, id);
      if (field === undefined) throw new Error(`${id} has neither lease nor place in ${name}`);
      const isList = Array.isArray(stored?.[field]);
      const moved = { $mergeObjects: ['$$this', { expiresAt: to }] };
      const each = { $cond: [{ $eq: ['$$this.id', id] }, moved, '$$this'] };
      return {
        $set: isList
          ? { [field]: { $map: { input: `$${field}`, in: each } } }
          : { [`${field}.expiresAt`]: to },
      };
    });
    await this.tamper(name, stages);
  }

  /** Stores this document in place of any earlier one. */
  async put(document: StoredDocument): Promise<void> {
    await this.collection.replaceOne({ _id: document._id }, document, { upsert: true });
  }

  async delete(name: string): Promise<void> {
    await this.collection.deleteOne({ _id: name });
  }

  async drop(): Promise<void> {
    await this.collection.drop();
  }

  async read(name: string): Promise<StoredDocument | null> {
    return this.collection.findOne({ _id: name });
  }

  /** Whether the server finds the document legal. */
  async isLegal(name: string): Promise<boolean> {
    const found = await this.collection.findOne(
      { _id: name },
      { projection: wellFormedProjection(this.#rules) },
    );
    return found?.['isWellFormed'] === true;
  }

  /** The stored document as readable text, with the hash of its bytes. */
  async image(name: string): Promise<string> {
    const raw = (await this.collection.findOne({ _id: name }, { raw: true })) as unknown;
    if (!(raw instanceof Uint8Array)) throw new Error(`there is no document ${name}`);
    const words = BSON.EJSON.stringify(BSON.deserialize(raw, { promoteValues: false }), { relaxed: false });
    return `${words} ${createHash('sha256').update(raw).digest('hex')}`;
  }

  /** The oplog entries of this document, oldest first. */
  async oplog(name: string): Promise<readonly Document[]> {
    return this.#entriesOf(name).sort({ $natural: 1 }).toArray();
  }

  /** The newest of them. The server reads the oplog from its end: all of it takes a second after an hour of tests. */
  async lastOplogEntry(name: string): Promise<Document | undefined> {
    const [entry] = await this.#entriesOf(name).sort({ $natural: -1 }).limit(1).toArray();
    return entry;
  }

  #entriesOf(name: string): FindCursor<Document> {
    const ofDocument = { ns: this.namespace, $or: [{ 'o2._id': name }, { 'o._id': name }] };
    const entries = this.#client.db('local').collection('oplog.rs');
    return entries.find({ ts: { $gte: this.#since }, ...ofDocument });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db.dropDatabase();
    await this.#client.close();
  }

  async #update(
    name: string,
    pipeline: readonly Stage[],
    fields: Fields,
    upsert: boolean,
  ): Promise<Document | null> {
    const reply = await this.#db.command({
      findAndModify: 'locks',
      query: { _id: name },
      update: pipeline,
      new: true,
      upsert,
      fields: { ...fields, stored: '$$ROOT' },
      writeConcern: { w: 1, j: false },
    });
    return (reply['value'] ?? null) as Document | null;
  }
}

/** The attempts that an operation concerns. */
export function idsOf(operation: Operation): readonly string[] {
  if ('request' in operation) return [operation.request.id];
  if ('ids' in operation) return operation.ids;
  return 'id' in operation ? [operation.id] : [];
}
