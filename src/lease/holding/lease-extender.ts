import type { Moment } from '../../clock.js';
import type { Report } from '../../events.js';
import type { Clock } from '../../clock.js';
import type { Observation } from '../../observation.js';
import type { ObservedExtension } from '../../observer.js';
import {
  extension,
  keptLeasesProjection,
  leasesProjection,
  readLeases,
} from '../../protocol/pipeline/extension.js';
import type { LeasesRead } from '../../protocol/pipeline/extension.js';
import type { Lease } from '../../protocol/lock-document.js';
import { revocationOf } from '../../protocol/pipeline/revocation.js';
import type { Outcome } from '../../store/outcome.js';
import type { Committer } from '../../store/updates/committer.js';
import { extendedDeadline } from '../deadline.js';
import type { Seat } from './seat.js';

export type Confirmation =
  | { readonly type: 'extended' }
  | { readonly type: 'lost' }
  /** The outcome is unknown, or the server or the driver refused (`isRefused`). Neither ends the seat. */
  | { readonly type: 'unknown'; readonly error: unknown; readonly isRefused?: boolean };

/** The results for the seats of one batch, in their order. */
export interface Answers {
  readonly confirmations: readonly Confirmation[];
  /** Whether the batch was refused, perhaps because of one of its documents. */
  readonly isRefused: boolean;
}

interface DocumentRead extends LeasesRead {
  readonly byId: ReadonlyMap<string, Lease>;
}

interface ExtensionRead {
  readonly documents: readonly DocumentRead[];
  readonly updateSentAt: Moment;
}

/** Extends a batch of seats on the server and applies the answer to each seat. */
export class LeaseExtender {
  readonly #committer: Committer;
  readonly #process: string;
  readonly #report: Report;
  readonly #observation: Observation;
  readonly #clock: Clock;

  constructor(committer: Committer, process: string, report: Report, observation: Observation, clock: Clock) {
    this.#committer = committer;
    this.#process = process;
    this.#report = report;
    this.#observation = observation;
    this.#clock = clock;
  }

  /**
   * Extends the seats by one update, and then reads their documents.
   *
   * @param names - The lock names of the batch, each once.
   * @param boundMs - About the longest time, in ms, that the update and the read may take together.
   */
  async extend(names: readonly string[], batch: readonly Seat[], boundMs: number): Promise<Answers> {
    const tokens = batch.map(({ storedToken }) => storedToken);
    const sentMs = this.#clock.nowMs();
    const read = await this.#send(names, batch, boundMs);
    if (read.type !== 'done') {
      const { error } = read;
      const isRefused = read.type === 'refused';
      return { confirmations: batch.map(() => ({ type: 'unknown', error, isRefused })), isRefused };
    }
    if (this.#observation.hearsExtensions) {
      const durationMs = this.#clock.nowMs() - sentMs;
      this.#observation.extended({ durationMs, leases: batch.flatMap(leftOf) });
    }
    const { updateSentAt } = read.value;
    const documents = new Map(read.value.documents.map((document) => [document.name, document]));
    const confirmations = batch.map((seat, index) => {
      const { [index]: tokenThen = seat.storedToken } = tokens;
      return this.#apply(seat, tokenThen, documents.get(seat.name), (lease, nowMs) =>
        extendedDeadline(lease, nowMs, read.sentAt, updateSentAt, seat.grant.durations),
      );
    });
    return { confirmations, isRefused: false };
  }

  async #send(
    names: readonly string[],
    batch: readonly Seat[],
    boundMs: number,
  ): Promise<Outcome<ExtensionRead>> {
    const leaseMs = Math.max(...batch.map(({ grant }) => grant.durations.leaseMs));
    const retentionMs = Math.max(...batch.map(({ grant }) => grant.durations.retentionMs));
    const ids = batch.map(({ id }) => id);
    const kinds = [...new Set(batch.map(({ grant }) => grant.rules))];
    const pipeline = extension(kinds, ids, leaseMs, retentionMs);
    const mayBeKept = batch.some(({ keeper }) => keeper !== undefined);
    const projection = (mayBeKept ? keptLeasesProjection : leasesProjection)(kinds, this.#process, ids);
    const read = await this.#committer.updateAndRead(names, pipeline, projection, boundMs);
    if (read.type !== 'done') return read;
    const { documents, updateSentAt } = read.value;
    return { ...read, value: { documents: documents.map(readDocument), updateSentAt } };
  }

  #apply(
    seat: Seat,
    tokenThen: number,
    document: DocumentRead | undefined,
    deadlineOf: (lease: Lease, nowMs: number) => Moment,
  ): Confirmation {
    // If the seat was given up or lost in the meantime, the answer does not matter.
    if (!seat.checkOpen()) return { type: 'lost' };
    const lease = document?.byId.get(seat.id);
    if (document === undefined || lease === undefined || !seat.recognises(lease, tokenThen)) {
      if (document === undefined) seat.lose('document-missing');
      else seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));
      return { type: 'lost' };
    }
    seat.extendTo(deadlineOf(lease, document.nowMs));
    if (!seat.checkOpen()) return { type: 'lost' };
    this.#emit(seat, lease, document);
    if (lease.called !== undefined) for (const hold of seat.holds) hold.noteCall(lease.called);
    if (document.othersWait) seat.keeper?.othersWait();
    return { type: 'extended' };
  }

  /**
   * Reports `extended` for each hold. For an ending lease, requests the release of each hold instead, and reports
   * `releaseRequested`, unless the release was requested before.
   */
  #emit(seat: Seat, { ending }: Lease, { revoked }: DocumentRead): void {
    if (ending !== true) {
      for (const { event } of seat.holds) {
        this.#report('extended', { ...event, remainingMs: seat.checkRemainingMs() });
      }
      return;
    }
    // An ending lease was revoked. If the document has no record of the revocation, the revoker is unknown.
    for (const { event } of seat.requestRelease(revocationOf(revoked, seat.grant.token) ?? {})) {
      this.#report('releaseRequested', { ...event, ...seat.revocation });
    }
  }
}

/**
 * The share of the lease that is left when the answer comes; none for a seat that was given up meanwhile, or whose
 * revocation an earlier answer has shown. Called before the answer extends the lease or tells of a revocation.
 */
function leftOf(seat: Seat): ObservedExtension['leases'] {
  if (seat.isGivenUp || seat.revocation !== undefined) return [];
  const { leaseMs, clockAllowanceMs } = seat.grant.durations;
  const leftShare = Math.min(1, seat.standing().remainingMs / (leaseMs - clockAllowanceMs));
  return [{ lockName: seat.name, leftShare }];
}

function readDocument(document: Readonly<Record<string, unknown>>): DocumentRead {
  const read = readLeases(document);
  return { ...read, byId: new Map(read.leases.map((lease) => [lease.id, lease])) };
}
