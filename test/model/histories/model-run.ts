import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { Long } from 'mongodb';

import type { Operation } from '../../../src/protocol/operation.js';
import type { Coverage } from './coverage.js';
import { FIELD_CORRUPTIONS } from '../documents/field-corruptions.js';
import { isNamed, judge, setsLimit } from '../../judge/invariants.js';
import { DeposedTerms } from './deposed-terms.js';
import type { LockDocumentDriver, StoredDocument } from '../documents/lock-document-driver.js';
import type { TestedKind } from '../documents/lock-kinds.js';
import { fieldOf, versionOf } from '../../../src/testing/judge/lock-version.js';
import { compareReply, compareStored } from './model-comparison.js';
import { toStored } from '../reference/model-views.js';
import { otherKind, withLongs } from '../documents/other-kind.js';
import type { OtherKind } from '../documents/other-kind.js';
import { settle, whoIs } from './planned-operation.js';
import type { Event, Knowledge, PlannedOperation, When } from './planned-operation.js';
import { extension, transition } from '../reference/reference-model.js';
import type { Step, Stored } from '../reference/reference-model.js';
import type { ModelDocument } from '../reference/model-document.js';
import { mayBeSucceeded } from '../../judge/successions.js';
import { pause } from '../../../lab/patience.js';

const DAY_MS = 86_400_000;

const GIVING_UP = ['leave', 'cancel', 'evict', 'handOver'] as const;

/** Plays one history of one lock on the model and on the server side by side. */
export class ModelRun {
  readonly #driver: LockDocumentDriver;
  readonly #kind: TestedKind;
  readonly #name: string;
  readonly #coverage: Coverage | undefined;
  #model: Stored = { type: 'missing' };
  #otherKind: OtherKind | undefined;
  readonly #deposed = new DeposedTerms();
  #lastToken = 0;
  /** How many fast paths were tried. Every other one may create the document. */
  #shorts = 0;
  /** The server's time by its last reply. */
  #nowMs: number;

  constructor(driver: LockDocumentDriver, kind: TestedKind, name: string, coverage?: Coverage) {
    this.#driver = driver;
    this.#kind = kind;
    this.#name = name;
    this.#coverage = coverage;
    this.#nowMs = Date.now();
  }

  async play(event: Event): Promise<void> {
    switch (event.type) {
      case 'update': {
        const operations = this.#withoutComebacks(event.operations.map((planned) => this.#settle(planned)));
        // Only a request takes over a document of another kind.
        const takingOver = event.takingOver && operations.some((operation) => 'request' in operation);
        await this.#update(operations, event.process, { takingOver, short: event.short && !takingOver });
        break;
      }
      case 'extension': {
        const ids = event.targets.map((target) => this.#resolve(target));
        await this.#extend(ids, event.leaseMs, event.retentionMs);
        break;
      }
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
        await this.#replaceByOtherKind(otherKind(this.#kind, event.which), event.isLive);
        break;
      case 'corruption':
        await this.#corrupt(event.which);
    }
  }

  /** Compares what is stored in the end with the model. */
  async finish(): Promise<void> {
    if (this.#model.type !== 'lock') return;
    compareStored(this.#kind, this.#name, this.#model.document, await this.#driver.read(this.#name));
  }

  async #update(
    operations: readonly Operation[],
    process: string,
    { takingOver, short }: { readonly takingOver: boolean; readonly short: boolean },
  ): Promise<void> {
    const before = this.#model;
    const claimsBefore = this.#claims;
    const [only, ...others] = operations;
    if (short && only !== undefined && others.length === 0 && (await this.#updateShortly(only, process)))
      return;
    const counts = operations.some((operation) => 'request' in operation && operation.request.keeps);
    const answer = await this.#driver.send(this.#name, operations, { process, takingOver, counts });
    this.#nowMs = answer?.nowMs ?? this.#nowMs;
    const step = transition(this.#kind.model, before, operations, this.#nowMs, takingOver);
    this.#model = step.after;
    if (answer === null) {
      assert.equal(step.after.type, 'missing', 'the server has no document');
      return;
    }
    compareReply(this.#kind, answer.reply, step, operations, { process, counts });
    this.#deposed.note(claimsBefore, operations, this.#claims, answer.reply.wake);
    if (step.after.type === 'other-kind') this.#coverage?.noteRefusals(step.refusals);
    this.#compareStored(answer.stored);
    if (step.after.type === 'lock') this.#judge(before, operations, step, versionOf(answer.stored));
  }

  /** Tries the fast path: if it applies, it does what the whole update would do; else nothing, and returns false. */
  async #updateShortly(operation: Operation, process: string): Promise<boolean> {
    const before = this.#model;
    this.#shorts += 1;
    const creates = before.type === 'missing' || this.#shorts % 2 === 0;
    const outcome = await this.#driver.sendShort(this.#name, operation, creates);
    if (outcome === undefined) return false;
    const { nowMs, stored, answer } = outcome;
    this.#nowMs = nowMs;
    const stood = before.type === 'lock' ? before.document.wake : [];
    // An earlier copy of a leave has written the same words, so they do not tell that this one applied.
    if (answer === undefined || (answer.reply === null && isDeepStrictEqual(answer.wake, stood))) {
      this.#compareStored(stored);
      return false;
    }
    const step = transition(this.#kind.model, before, [operation], nowMs);
    this.#model = step.after;
    assert.ok(step.after.type === 'lock', 'the fast path applied to something else than a lock of its kind');
    this.#compareStored(stored);
    assert.deepEqual(answer.wake, step.after.document.wake);
    if (answer.reply !== null) {
      compareReply(this.#kind, answer.reply, step, [operation], { process, counts: true });
    }
    this.#judge(before, [operation], step, versionOf(stored));
    this.#coverage?.noteShort();
    return true;
  }

  #compareStored(stored: StoredDocument): void {
    const model = this.#model;
    if (model.type === 'lock') compareStored(this.#kind, this.#name, model.document, stored);
    if (model.type === 'other-kind') assert.deepEqual(stored, this.#otherKind?.stored(this.#name, model));
  }

  #judge(
    before: Stored,
    operations: readonly Operation[],
    step: Step,
    after: ReturnType<typeof versionOf>,
  ): void {
    const stored = before.type === 'lock' ? toStored(this.#kind.model, this.#name, before.document) : null;
    const update = { before: versionOf(stored), operations, nowMs: this.#nowMs, after };
    this.#lastToken = judge(update, this.#lastToken);
    this.#coverage?.note(update, before.type === 'other-kind', step.refusals);
  }

  async #extend(ids: readonly string[], leaseMs: number, retentionMs: number): Promise<void> {
    const answer = await this.#driver.extend(this.#name, ids, leaseMs, retentionMs);
    if (answer === null) {
      assert.equal(this.#model.type, 'missing', 'the server has no document');
      return;
    }
    this.#nowMs = answer.nowMs;
    this.#model = extension(this.#model, ids, leaseMs, retentionMs, answer.nowMs);
    this.#compareStored(answer.stored);
  }

  async #lapse(id: string, when: When): Promise<void> {
    const model = this.#model;
    if (model.type === 'other-kind' && this.#otherKind !== undefined) {
      await this.#replaceByOtherKind(this.#otherKind, false);
    }
    if (model.type !== 'lock') return;
    const { document } = model;
    if (fieldOf(toStored(this.#kind.model, this.#name, document), id) === undefined) return;
    const transitionMs = document.leases.find((lease) => lease.id === id)?.transitionMs ?? 0;
    // A shorter transition might be over before the next update.
    if (when === 'silent' && transitionMs < 30_000) return;
    const inMs = { past: -1, now: 0, ahead: 2 * DAY_MS, silent: transitionMs - 1 }[when];
    const to = new Date(this.#nowMs + inMs);
    if (when === 'ahead') this.#deposed.forget();
    await this.#driver.lapse(this.#name, [id], when === 'now' ? '$$NOW' : to);
    const expiresAt = when === 'now' ? await this.#storedExpiry(id) : to;
    this.#become(document, {
      leases: document.leases.map((lease) => (lease.id === id ? { ...lease, expiresAt } : lease)),
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

  /** Sets the fence ahead of the clock, as after a failover to a server whose clock is behind. */
  async #setFenceAhead(by: number): Promise<void> {
    if (this.#model.type !== 'lock') return;
    const fence = Math.max(this.#model.document.fence, this.#nowMs * 1_000) + by;
    await this.#driver.tamper(this.#name, { $set: { fence: Long.fromNumber(fence) } });
    this.#become(this.#model.document, { fence });
  }

  async #delete(): Promise<void> {
    // Tokens rise over a lost document unless the clock stepped back too: for that, the documents promise nothing.
    if (this.#fence > (this.#nowMs + 1) * 1_000) return;
    await this.#driver.delete(this.#name);
    this.#model = { type: 'missing' };
    // A new grant in the same millisecond could repeat a token. A real purge or drop takes longer.
    await pause(3);
  }

  async #replaceByOtherKind(other: OtherKind, isLive: boolean): Promise<void> {
    const { kind, leases } = other;
    const expiries = Array.from({ length: leases }, () => new Date(this.#nowMs + (isLive ? DAY_MS : -1)));
    const purgeAt = new Date(this.#nowMs + 30 * DAY_MS);
    const fence = Math.max(this.#fence, this.#lastToken, leases);
    const model = {
      type: 'other-kind',
      kind,
      fence,
      wake: [],
      purgeAt,
      expiries,
      claims: this.#claims,
      calls: this.#calls,
    } as const;
    const stored = other.stored(this.#name, model);
    await this.#driver.put(withLongs(stored));
    [this.#model, this.#otherKind] = [model, other];
  }

  /** Corrupts the document for a while, in which no update touches it. */
  async #corrupt(which: number): Promise<void> {
    const { kind } = this.#kind.model;
    const corruptions = FIELD_CORRUPTIONS[kind];
    const [field, value] = corruptions[which % corruptions.length] ?? ['v', 2];
    if (this.#model.type !== 'lock') return;
    const healthy = this.#model;
    const overwrite = [{ $set: { saved: `$${field}` } }, { $set: { [field]: { $literal: value } } }];
    await this.#driver.tamper(this.#name, overwrite);
    const before = await this.#driver.image(this.#name);
    this.#model = { type: 'corrupt' };
    for (const type of ['enqueue', 'try'] as const) {
      const request = this.#settle({
        ...{ type, target: 'w7', leaseMs: 100, notAfterMs: DAY_MS, maxMembers: 99, retentionMs: DAY_MS },
        demand: { mode: 'read', permits: 1, limit: 3 },
      });
      await this.#driver.apply(this.#name, [{ type: 'leave', id: 'w0' }, request]);
      await this.#driver.sendShort(this.#name, request);
      await this.#driver.sendShort(this.#name, { type: 'leave', id: this.#resolve('holder') });
    }
    await this.#driver.extend(this.#name, ['w0', 'w1'], DAY_MS, 900 * DAY_MS);
    assert.equal(await this.#driver.image(this.#name), before, 'a corrupt document was touched');
    await this.#driver.tamper(this.#name, [{ $set: { [field]: '$saved' } }, { $unset: 'saved' }]);
    this.#model = healthy;
    this.#coverage?.noteCorruption();
  }

  get #fence(): number {
    const model = this.#model;
    if (model.type === 'lock') return model.document.fence;
    return model.type === 'other-kind' ? model.fence : 0;
  }

  #become(document: ModelDocument, change: Partial<ModelDocument>): void {
    this.#model = { type: 'lock', document: { ...document, ...change } };
  }

  #settle(planned: PlannedOperation): Operation {
    const knowledge: Knowledge = {
      nowMs: this.#nowMs,
      resolve: (target) => this.#resolve(target),
      lastChangeOf: (id) => this.#leases.find((lease) => lease.id === id)?.change ?? 0,
      tokenOf: (id) => this.#leases.find((lease) => lease.id === id)?.token ?? 1,
      lastClaimOf: (job) => this.#claims?.find((claim) => claim.job === job)?.instant ?? null,
      lastRunOf: (job) => this.#claims?.find((claim) => claim.job === job)?.run?.instant ?? null,
      lastCallOf: (job) => this.#calls?.find((call) => call.job === job)?.asked ?? 0,
    };
    return settle(planned, knowledge);
  }

  get #claims(): ModelDocument['claims'] {
    return ('document' in this.#model ? this.#model.document : this.#model).claims;
  }

  get #calls(): ModelDocument['calls'] {
    return ('document' in this.#model ? this.#model.document : this.#model).calls;
  }

  get #leases(): ModelDocument['leases'] {
    return this.#model.type === 'lock' ? this.#model.document.leases : [];
  }

  #resolve(target: string): string {
    const queue = this.#model.type === 'lock' ? this.#model.document.queue : [];
    return whoIs(target, this.#leases, queue);
  }

  /** Drops a request under an id that was given up or refused in the same update: a new attempt has a new id. */
  #withoutComebacks(operations: readonly Operation[]): readonly Operation[] {
    const queued = this.#model.type === 'lock' ? this.#model.document.queue : [];
    const known = [...queued.map(({ id, waiter }) => ({ ...waiter, id })), ...this.#leases];
    return operations.filter((operation, index) => {
      if (!('request' in operation)) return true;
      const { id } = operation.request;
      const earlier = operations.slice(0, index);
      const isOut = earlier.some(setsLimit) && queued.some((waiter) => waiter.id === id);
      return !isOut && !mayBeSucceeded(id, known, earlier) && !isNamed(earlier, id, GIVING_UP);
    });
  }
}
