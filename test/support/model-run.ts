import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Long } from 'mongodb';

import type { Lease } from '../../src/protocol/lock-document.js';
import { mutexSeats } from '../../src/protocol/mutex-seats.js';
import { fateOf, refusalOf } from '../../src/protocol/reply.js';
import type { Reply } from '../../src/protocol/reply.js';
import type { Operation } from '../../src/protocol/transition.js';
import { idsOf } from './lock-document-driver.js';
import type { Answer, LockDocumentDriver, StoredDocument } from './lock-document-driver.js';
import { isNamed, judge, versionOf } from './invariants.js';
import { earliestInTheWay, placesIn, toReply, toStored } from './model-views.js';
import { mutexModel } from './mutex-model.js';
import { processOf, settle } from './random-updates.js';
import type { Event } from './random-updates.js';
import { extension, transition } from './reference-model.js';
import type { ModelDocument, Step, Stored } from './reference-model.js';

type Model = Stored<readonly Lease[]>;

const DAY_MS = 86_400_000;

const GIVING_UP = ['leave', 'cancel', 'evict'] as const;

/** What a field is overwritten with to corrupt the document, for a while. */
const CORRUPTIONS: readonly (readonly [field: string, value: unknown])[] = [
  ['kind', 'turnstile'],
  ['v', 2],
  ['fence', 'x'],
  ['fence', 1.5],
  ['queue', []],
  ['queue', null],
  ['wake', 7],
  ['purgeAt', '2030-01-01'],
  ['holder', 'nobody'],
  ['holder', []],
];

/** One history of one lock, on the model and on the server side by side. */
export class ModelRun {
  readonly #driver: LockDocumentDriver;
  readonly #name: string;
  #model: Model = { type: 'missing' };
  #lastToken = 0;
  /** The server's time as last heard of. */
  #nowMs: number;

  constructor(driver: LockDocumentDriver, name: string, nowMs: number) {
    this.#driver = driver;
    this.#name = name;
    this.#nowMs = nowMs;
  }

  async play(event: Event): Promise<void> {
    switch (event.type) {
      case 'update': {
        const resolve = (target: string): string => this.#resolve(target);
        const operations = event.operations.map((planned) => settle(planned, this.#nowMs, resolve));
        await this.#update(withoutComebacks(operations), event.process, event.adopting);
        break;
      }
      case 'extension':
        await this.#extend(
          event.targets.map((target) => this.#resolve(target)),
          event.leaseMs,
          event.retentionMs,
        );
        break;
      case 'lapse':
        await this.#lapse(this.#resolve(event.target), event.when);
        break;
      case 'fence-ahead':
        await this.#setFenceAhead(event.by);
        break;
      case 'delete':
        await this.#delete();
        break;
      case 'other-kind':
        await this.#replaceByOtherKind(event.isLive);
        break;
      case 'corruption':
        await this.#corrupt(event.which);
    }
  }

  /** What is stored in the end is what the replies said. */
  async finish(): Promise<void> {
    this.#compareStored(await this.#driver.read(this.#name));
  }

  async #update(operations: readonly Operation[], process: string, adopting: boolean): Promise<void> {
    const before = this.#model;
    const answer = await this.#driver.send(this.#name, operations, { process, adopting });
    if (answer === null) {
      this.#model = transition(mutexModel, before, operations, this.#nowMs, adopting).after;
      assert.equal(this.#model.type, 'missing', 'the server has no document');
      return;
    }
    this.#nowMs = answer.nowMs;
    const step = transition(mutexModel, before, operations, answer.nowMs, adopting);
    this.#model = step.after;
    this.#compareStored(answer.stored);
    this.#compareReply(answer, step, operations, process);
    if (step.after.type !== 'lock') return;
    const stored = before.type === 'lock' ? toStored(mutexModel, this.#name, before.document) : null;
    const [{ nowMs }, after] = [answer, versionOf(answer.stored)];
    this.#lastToken = judge({ before: versionOf(stored), operations, nowMs, after }, this.#lastToken);
  }

  async #extend(ids: readonly string[], leaseMs: number, retentionMs: number): Promise<void> {
    const answer = await this.#driver.extend(this.#name, ids, leaseMs, retentionMs);
    if (answer === null) {
      assert.equal(this.#model.type, 'missing', 'the server has no document');
      return;
    }
    this.#nowMs = answer.nowMs;
    this.#model = extension(mutexModel, this.#model, ids, leaseMs, retentionMs, answer.nowMs);
    this.#compareStored(answer.stored);
  }

  async #lapse(id: string, when: 'past' | 'now' | 'ahead'): Promise<void> {
    const model = this.#model;
    if (model.type === 'other-kind') {
      const expiresAt = new Date(this.#nowMs - 1);
      await this.#driver.tamper(this.#name, { $set: { 'holders.$[].expiresAt': expiresAt } });
      this.#model = { ...model, expiries: model.expiries.map(() => expiresAt) };
    }
    if (model.type !== 'lock') return;
    const { document } = model;
    const isHeld = document.seats.some((lease) => lease.id === id);
    if (!isHeld && !document.queue.some((queued) => queued.id === id)) return;
    const field = isHeld ? 'holder.expiresAt' : `queue.${id}.expiresAt`;
    const to = new Date(this.#nowMs + (when === 'past' ? -1 : 2 * DAY_MS));
    await this.#driver.tamper(this.#name, [{ $set: { [field]: when === 'now' ? '$$NOW' : to } }]);
    const expiresAt = when === 'now' ? await this.#storedExpiry(id) : to;
    this.#become(document, {
      seats: document.seats.map((lease) => (lease.id === id ? { ...lease, expiresAt } : lease)),
      queue: document.queue.map((queued) =>
        queued.id === id ? { id, waiter: { ...queued.waiter, expiresAt } } : queued,
      ),
    });
  }

  async #storedExpiry(id: string): Promise<Date> {
    const { leases, queue } = versionOf(await this.#driver.read(this.#name));
    const member = leases.find((lease) => lease.id === id) ?? queue.find(([queued]) => queued === id)?.[1];
    assert.ok(member !== undefined, `${id} is gone`);
    return member.expiresAt;
  }

  /** As after a failover to a server whose clock is behind. */
  async #setFenceAhead(by: number): Promise<void> {
    if (this.#model.type !== 'lock') return;
    const fence = Math.max(this.#model.document.fence, this.#nowMs * 1_000) + by;
    await this.#driver.tamper(this.#name, { $set: { fence: Long.fromNumber(fence) } });
    this.#become(this.#model.document, { fence });
  }

  async #delete(): Promise<void> {
    const fence = this.#model.type === 'missing' ? 0 : this.#fence;
    // Tokens rise over a loss unless the clock stepped back too, which is documented and not claimed.
    if (fence > (this.#nowMs + 1) * 1_000) return;
    await this.#driver.delete(this.#name);
    this.#model = { type: 'missing' };
    // A new grant in the same millisecond could repeat a token; no purge or drop is over so soon.
    await sleep(3);
  }

  async #replaceByOtherKind(isLive: boolean): Promise<void> {
    const expiresAt = new Date(this.#nowMs + (isLive ? DAY_MS : -1));
    const [kind, wake, purgeAt] = ['semaphore', '', new Date(this.#nowMs + 30 * DAY_MS)] as const;
    const fence = this.#model.type === 'missing' ? 0 : this.#fence;
    const lease = { id: 'w0', process: 'p', token: Long.fromNumber(1), leaseMs: 1_000, expiresAt };
    const seats = { limit: 3, holders: [lease, lease] };
    await this.#driver.put({
      ...{ _id: this.#name, kind, v: 1, fence: Long.fromNumber(fence) },
      ...{ ...seats, queue: {}, wake, purgeAt },
    });
    this.#model = { type: 'other-kind', kind, fence, wake: [], purgeAt, expiries: [expiresAt, expiresAt] };
  }

  /** While a document is corrupt, nothing touches it, and every request is told so. */
  async #corrupt(which: number): Promise<void> {
    const [field, value] = CORRUPTIONS[which % CORRUPTIONS.length] ?? ['v', 2];
    if (this.#model.type !== 'lock') return;
    const healthy = this.#model;
    const overwrite = [{ $set: { saved: `$${field}` } }, { $set: { [field]: { $literal: value } } }];
    await this.#driver.tamper(this.#name, overwrite);
    const before = await this.#driver.image(this.#name);
    for (const type of ['enqueue', 'try'] as const) {
      const settled = settle(
        { type, target: 'w7', leaseMs: 100, notAfterMs: DAY_MS, maxMembers: 99, retentionMs: DAY_MS },
        this.#nowMs,
        (target) => target,
      );
      const answer = await this.#driver.apply(this.#name, [{ type: 'leave', id: 'w0' }, settled]);
      this.#model = { type: 'corrupt' };
      this.#compareStored(answer.stored);
    }
    await this.#driver.extend(this.#name, ['w0', 'w1'], DAY_MS, 900 * DAY_MS);
    assert.equal(await this.#driver.image(this.#name), before, 'a corrupt document was touched');
    await this.#driver.tamper(this.#name, [{ $set: { [field]: '$saved' } }, { $unset: 'saved' }]);
    this.#model = healthy;
  }

  get #fence(): number {
    const model = this.#model;
    if (model.type === 'lock') return model.document.fence;
    return model.type === 'other-kind' ? model.fence : 0;
  }

  #become(document: ModelDocument<readonly Lease[]>, change: Partial<ModelDocument<readonly Lease[]>>): void {
    this.#model = { type: 'lock', document: { ...document, ...change } };
  }

  #resolve(target: string): string {
    if (this.#model.type !== 'lock') return target;
    const { seats, queue } = this.#model.document;
    if (target === 'holder') return seats[0]?.id ?? 'w0';
    if (target === 'head') return queue[0]?.id ?? 'w1';
    return target;
  }

  #compareStored(stored: StoredDocument | null): void {
    if (this.#model.type !== 'lock') return;
    const expected = toStored(mutexModel, this.#name, this.#model.document);
    assert.ok(stored !== null, 'the document is gone');
    assert.deepEqual(stored, expected);
    const order = Object.keys(stored['queue'] as object);
    assert.deepEqual(order, Object.keys(expected['queue'] as object), 'the order of the queue');
  }

  #compareReply(
    { reply }: Answer,
    { after, refusals }: Step<readonly Lease[]>,
    operations: readonly Operation[],
    process: string,
  ): void {
    assert.equal(reply.sound, true);
    assert.equal(reply.kind, after.type === 'other-kind' ? after.kind : 'mutex');
    if (after.type === 'lock') {
      const { fence, wake, leases, waiters } = reply;
      assert.deepEqual({ fence, wake, leases, waiters }, toReply(mutexModel, after.document));
      const first = reply.places[0]?.place ?? 0;
      assert.equal(reply.earliestMs, earliestInTheWay(mutexModel, after.document, first));
      const places = placesIn(after.document);
      // Of places, a reply shows those it was asked for, and may show others.
      const asked = places.filter(({ id }) => processOf(id) === process && isConcerned(operations, id));
      for (const place of asked) assert.deepEqual(find(reply.places, place.id), place);
      for (const place of reply.places) assert.deepEqual(place, find(places, place.id));
    }
    for (const operation of operations) {
      if ('request' in operation && operation.request.process === process) {
        this.#compareFate(reply, after, operations, operation, refusals);
      }
    }
  }

  #compareFate(
    reply: Reply,
    after: Model,
    operations: readonly Operation[],
    { type, request }: Extract<Operation, { request: unknown }>,
    refusals: Step<readonly Lease[]>['refusals'],
  ): void {
    const { id } = request;
    const document = after.type === 'lock' ? after.document : undefined;
    const fate = fateOf(reply, id).type;
    if (document?.seats.some((lease) => lease.id === id)) assert.equal(fate, 'granted', id);
    else if (document?.queue.some((queued) => queued.id === id)) assert.equal(fate, 'queued', id);
    else {
      assert.equal(fate, 'absent', id);
      const refusal = refusals.get(request);
      // Whoever was let in and left again in the same update has nobody waiting for an answer.
      if (refusal === undefined) return;
      const told = refusalOf(reply, mutexSeats, type, request);
      // What was in the way of it, another operation of the same update may have changed since.
      const mayBeUnexplained = operations.length > 1 && (refusal === 'busy' || refusal === 'full');
      if (told !== 'unexplained' || !mayBeUnexplained) assert.equal(told, refusal, id);
    }
  }
}

const find = <P extends { readonly id: string }>(places: readonly P[], id: string): P | undefined =>
  places.find((place) => place.id === id);

const isConcerned = (operations: readonly Operation[], id: string): boolean =>
  operations.some((operation) => idsOf(operation).includes(id));

/** Nobody asks again under an id that was given up in the same update: a new attempt has a new id. */
const withoutComebacks = (operations: readonly Operation[]): readonly Operation[] =>
  operations.filter(
    (operation, index) =>
      !('request' in operation) || !isNamed(operations.slice(0, index), operation.request.id, GIVING_UP),
  );
