import type { Clock, Moment } from '../../clock.js';
import type { Report } from '../../events.js';
import {
  extension,
  keptLeasesProjection,
  leasesProjection,
  readLeases,
} from '../../protocol/pipeline/extension.js';
import type { LeasesRead } from '../../protocol/pipeline/extension.js';
import type { Lease } from '../../protocol/lock-document.js';
import { revocationOf } from '../../protocol/pipeline/revocation.js';
import type { LockCollection } from '../../store/lock-collection.js';
import type { Outcome } from '../../store/outcome.js';
import { deadlineOf } from '../deadline.js';
import type { HeldLease } from './held-lease.js';

/** The result of asking the server about one hold. */
export type Confirmation =
  | { readonly type: 'extended' }
  | { readonly type: 'lost' }
  /** No answer. The hold may still be live, and is lost only at its own deadline. */
  | { readonly type: 'unknown'; readonly error: unknown };

/** The results for the holds of one batch, in their order. */
export interface Answers {
  readonly confirmations: readonly Confirmation[];
  /** Whether the server refused the batch, perhaps because of one of its documents. */
  readonly isRefused: boolean;
}

/** The read gets at least this long, however long the update took: without the read, the update is of no use. */
const MIN_READ_MS = 50;

/** One document, as the read shows it. */
interface DocumentRead extends LeasesRead {
  readonly byId: ReadonlyMap<string, Lease>;
}

/** Extends a batch of holds on the server and applies the answer to each hold. */
export class LeaseExtender {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #report: Report;

  constructor(collection: LockCollection, process: string, clock: Clock, report: Report) {
    this.#collection = collection;
    this.#process = process;
    this.#clock = clock;
    this.#report = report;
  }

  /**
   * One update and one read, bounded together.
   *
   * @param names - The lock names of the holds, each once.
   * @param currentOf - Finds the hold that uses the seat when the answer arrives, because a seat may have been passed
   *   on.
   */
  async extend(
    names: readonly string[],
    holds: readonly HeldLease[],
    boundMs: number,
    currentOf: (hold: HeldLease) => HeldLease | undefined,
  ): Promise<Answers> {
    const tokens = holds.map(({ storedToken }) => storedToken);
    const read = await this.#send(names, holds, boundMs);
    if (read.type !== 'done') {
      const { error } = read;
      return {
        confirmations: holds.map(() => ({ type: 'unknown', error })),
        isRefused: read.type === 'refused',
      };
    }
    const documents = new Map(read.value.map((document) => [document.name, document]));
    const confirmations = holds.map((hold, index) => {
      const { [index]: tokenThen = hold.storedToken } = tokens;
      return this.#apply(currentOf(hold) ?? hold, tokenThen, documents.get(hold.name), read.sentAt);
    });
    return { confirmations, isRefused: false };
  }

  async #send(
    names: readonly string[],
    holds: readonly HeldLease[],
    boundMs: number,
  ): Promise<Outcome<readonly DocumentRead[]>> {
    const leaseMs = Math.max(...holds.map(({ grant }) => grant.terms.leaseMs));
    const retentionMs = Math.max(...holds.map(({ grant }) => grant.terms.retentionMs));
    const ids = holds.map(({ id }) => id);
    const kinds = [...new Set(holds.map(({ grant }) => grant.seats))];
    const endMs = this.#clock.nowMs() + boundMs;
    const pipeline = extension(kinds, ids, leaseMs, retentionMs);
    const updated = await this.#collection.updateMany(names, pipeline, boundMs);
    if (updated.type !== 'done') return updated;
    const mayBeKept = holds.some(({ grant }) => grant.kept !== undefined);
    const projection = (mayBeKept ? keptLeasesProjection : leasesProjection)(kinds, this.#process, ids);
    // A local read: a majority has acknowledged the update, but a majority read may still show an older state.
    const leftToReadMs = Math.max(endMs - this.#clock.nowMs(), MIN_READ_MS);
    const read = await this.#collection.read(names, projection, 'local', leftToReadMs);
    return read.type === 'done' ? { ...read, value: read.value.map(readDocument) } : read;
  }

  #apply(
    hold: HeldLease,
    tokenThen: number,
    document: DocumentRead | undefined,
    sentAt: Moment,
  ): Confirmation {
    // The hold was released or lost in the meantime, so the answer does not matter.
    if (hold.ended !== undefined) return { type: 'lost' };
    const { grant } = hold;
    const lease = document?.byId.get(hold.id);
    if (document === undefined || lease === undefined || !hold.recognises(lease, tokenThen)) {
      if (document === undefined) hold.lose('document-missing');
      else hold.lose('evicted', revocationOf(document.revoked, hold.firstToken));
      return { type: 'lost' };
    }
    hold.extendTo(deadlineOf(lease, document.nowMs, sentAt, grant.terms));
    this.#emit(hold, lease, document);
    if (lease.called !== undefined) hold.noteCall(lease.called);
    if (document.othersWait) grant.kept?.keeper.othersWait();
    return { type: 'extended' };
  }

  #emit(hold: HeldLease, { ending }: Lease, { revoked }: DocumentRead): void {
    const { id, name, grant } = hold;
    const event = { lockName: name, kind: grant.seats.kind, id, fencingToken: hold.token };
    if (ending !== true) {
      // No caller uses an idle seat, so no event reports its extension.
      if (hold.isIdle) return;
      this.#report('extended', { ...event, remainingMs: hold.remainingMs });
    } else if (hold.requestRelease(revocationOf(revoked, hold.firstToken) ?? {})) {
      this.#report('releaseRequested', { ...event, ...hold.revocation });
    }
  }
}

function readDocument(document: Readonly<Record<string, unknown>>): DocumentRead {
  const read = readLeases(document);
  return { ...read, byId: new Map(read.leases.map((lease) => [lease.id, lease])) };
}
