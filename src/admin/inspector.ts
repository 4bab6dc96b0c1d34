// Folder `admin`: operators read the locks of all processes, and revoke holds.

import { CorruptLockDocumentError } from '../errors.js';
import type { Report } from '../events.js';
import { keepAlive } from '../keep-alive.js';
import type { ParsedListFilter, RevokeOptions } from '../options/admin-options.js';
import { NOW } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { wellFormedProjection } from '../protocol/pipeline/verdict.js';
import { idsToldToLook } from '../protocol/wake.js';
import type { StoredClaim } from '../protocol/jobs/job-claims.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import type { KindRules } from '../protocol/kind-rules.js';
import { readSnapshot } from '../protocol/replies/snapshot.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Combiner } from '../store/updates/combiner.js';
import type { LockCollection } from '../store/lock-collection.js';
import { isKnown } from '../store/outcome.js';
import { unavailable } from '../store/unavailable.js';

/** The result of a revocation: three lists of attempt ids. */
export interface RevokeResult {
  /** The holds whose holders were asked to release. */
  readonly asked: string[];
  /** The holds that had ended before the revocation. Also the given `id`, if it names no hold of this lock. */
  readonly gone: string[];
  /** The holds whose seats were emptied by force. */
  readonly evicted: string[];
}

/** One stored document, as a read of many documents returns it. */
export interface StoredLock {
  readonly name: string;
  /** The server's time of the read. */
  readonly asOf: Date;
  /** `null`: the document is corrupt. */
  readonly snapshot: LockSnapshot | null;
  /** The last claim of each job of an election; empty for every other kind of lock and for a corrupt document. */
  readonly claims: readonly StoredClaim[];
}

/**
 * The most lock documents that one command of `list` or `pageStored` reads. A page is small, because lock documents
 * may be large and a caller may stop early. The server returns fewer documents if the answer would exceed 16 MB.
 */
const PAGE_SIZE = 100;

export class Inspector {
  readonly #collection: LockCollection;
  readonly #combiner: Combiner;
  readonly #kinds: readonly KindRules[];
  readonly #report: Report;
  readonly #by: string;
  readonly #whole: Fields;

  /** @param by - The name of this provider, which a revocation tells the holders. */
  constructor(
    collection: LockCollection,
    combiner: Combiner,
    kinds: readonly KindRules[],
    report: Report,
    by: string,
  ) {
    this.#report = report;
    this.#by = by;
    this.#collection = collection;
    this.#combiner = combiner;
    this.#kinds = kinds;
    this.#whole = { now: NOW, document: '$$ROOT', ...wellFormedProjection(...kinds) };
  }

  async inspect(name: string): Promise<LockSnapshot | null> {
    const outcome = await keepAlive(this.#collection.read([name], this.#whole, 'majority'));
    if (outcome.type !== 'done') throw unavailable(name, true, outcome.error);
    const [found] = outcome.value;
    return found === undefined ? null : this.#read(name, found);
  }

  async *list({ prefix, kind, heldOnly }: ParsedListFilter): AsyncGenerator<LockSnapshot> {
    const ofKind = kind === undefined ? {} : { kind };
    let from: Readonly<Record<string, unknown>> = { $gte: prefix };
    for (;;) {
      const page = await keepAlive(this.#page({ _id: from, ...ofKind }));
      if (page.length === 0) return;
      for (const found of page) {
        const name: unknown = found['_id'];
        if (typeof name !== 'string' || !name.startsWith(prefix)) return;
        from = { $gt: name };
        const snapshot = this.#readOrReport(name, found);
        if (snapshot !== null && (!heldOnly || snapshot.holders.length > 0)) yield snapshot;
      }
    }
  }

  /**
   * Reads these locks, with several commands if one answer would exceed 16 MB. A lock without a document is left out.
   */
  async readStored(names: readonly string[]): Promise<readonly StoredLock[]> {
    const outcome = await this.#collection.read(names, this.#whole, 'majority');
    if (outcome.type !== 'done') throw unavailable(null, true, outcome.error);
    return outcome.value.map(this.#stored);
  }

  /**
   * Reads the next locks in the order of their names: those after `after`, at most `PAGE_SIZE`. `null`: from the first
   * name on. Resolves with an empty array if no lock is left.
   */
  async pageStored(after: string | null): Promise<readonly StoredLock[]> {
    const page = await this.#page({ _id: after === null ? { $gte: '' } : { $gt: after } });
    return page.map(this.#stored);
  }

  async #page(
    filter: Readonly<Record<string, unknown>>,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const outcome = await this.#collection.page(filter, this.#whole, PAGE_SIZE);
    if (outcome.type !== 'done') throw unavailable(null, true, outcome.error);
    return outcome.value;
  }

  readonly #stored = (found: Readonly<Record<string, unknown>>): StoredLock => {
    const {
      _id: name,
      now: asOf,
      document,
    } = found as {
      _id: string;
      now: Date;
      document: Readonly<Record<string, unknown>>;
    };
    try {
      const snapshot = this.#read(name, found);
      const claims = snapshot.kind === electionRules.kind ? document['claims'] : undefined;
      return { name, asOf, snapshot, claims: (claims ?? []) as readonly StoredClaim[] };
    } catch (error) {
      if (!(error instanceof CorruptLockDocumentError)) throw error;
      return { name, asOf, snapshot: null, claims: [] };
    }
  };

  /** Reports a corrupt document as an event and returns `null`, so that `list` goes on with the next document. */
  #readOrReport(name: string, found: Readonly<Record<string, unknown>>): LockSnapshot | null {
    try {
      return this.#read(name, found);
    } catch (error) {
      this.#report('storeError', { lockName: name, during: 'list', error });
      return null;
    }
  }

  async revoke(name: string, { id, why, force = false }: RevokeOptions): Promise<RevokeResult> {
    const snapshot = await this.inspect(name);
    const held = (snapshot?.holders ?? []).map((holder) => holder.id);
    // An id that has no lease in the snapshot is reported as gone, and no update is sent for it.
    const ids = id === undefined ? held : held.filter((each) => each === id);
    const absent = id !== undefined && ids.length === 0 ? [id] : [];
    const rules = this.#kinds.find(({ kind }) => kind === snapshot?.kind);
    if (rules === undefined || ids.length === 0) return { asked: [], gone: absent, evicted: [] };
    const operation = { type: force ? 'evict' : 'ask', ids, by: this.#by, why } as const;
    const outcome = await keepAlive(this.#combiner.submit(name, rules, operation).outcome);
    if (outcome.type !== 'done') throw unavailable(name, isKnown(outcome), outcome.error);
    const named = idsToldToLook(outcome.value.wake);
    const told = ids.filter((each) => named.has(each));
    const gone = ids.filter((each) => !named.has(each));
    return force ? { asked: [], gone, evicted: told } : { asked: told, gone, evicted: [] };
  }

  #read(name: string, found: Readonly<Record<string, unknown>>): LockSnapshot {
    const { now, isWellFormed, document } = found as {
      now: Date;
      isWellFormed: boolean;
      document: Readonly<Record<string, unknown>>;
    };
    const snapshot = isWellFormed ? readSnapshot(this.#kinds, name, document, now) : null;
    if (snapshot === null) throw new CorruptLockDocumentError(name);
    return snapshot;
  }
}
