import type { Lease, LockKind, Waiter } from '../../protocol/lock-document.js';

/** The part of a lock document that the rules judge. */
export interface Version {
  readonly kind: LockKind;
  readonly fence: number;
  readonly leases: readonly Lease[];
  /** The id of the attempt that has the seat of the writer; `undefined` if there is none. */
  readonly writer: string | undefined;
  readonly limit: number | undefined;
  /** The words of the update that wrote this version. */
  readonly wake: string;
  /** The waiters, in the order of the queue. */
  readonly queue: readonly (readonly [id: string, waiter: Waiter])[];
}

interface StoredSeats {
  readonly kind: LockKind;
  readonly fence: number;
  readonly holder?: Lease | null;
  readonly readers?: readonly Lease[];
  readonly writer?: Lease | null;
  readonly holders?: readonly Lease[];
  readonly limit?: number;
  readonly queue: Readonly<Record<string, Waiter>>;
  readonly wake: string;
}

/** Reads a version from the stored fields. A missing document (`null`) reads as a mutex that was never used. */
export function versionOf(stored: Readonly<Record<string, unknown>> | null): Version {
  if (stored === null) {
    return { kind: 'mutex', fence: 0, leases: [], writer: undefined, limit: undefined, wake: '', queue: [] };
  }
  const { kind, fence, holder, readers, writer, holders, limit, queue, wake } =
    stored as unknown as StoredSeats;
  const seats = [holder, ...(readers ?? []), writer, ...(holders ?? [])];
  return {
    ...{ kind, fence, writer: writer?.id, limit, wake },
    leases: seats.filter((lease) => lease !== undefined && lease !== null),
    queue: Object.entries(queue),
  };
}

/** The path of the field that has the lease or the place of this attempt; `undefined` if the attempt has neither. */
export function fieldOf(stored: Readonly<Record<string, unknown>>, id: string): string | undefined {
  const { holder, readers, writer, holders, queue } = stored as unknown as StoredSeats;
  const seats = { holder: [holder], readers, writer: [writer], holders };
  const seated = Object.entries(seats).find(([, leases]) => leases?.some((lease) => lease?.id === id));
  return seated?.[0] ?? (Object.hasOwn(queue, id) ? `queue.${id}` : undefined);
}
