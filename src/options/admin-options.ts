import { LOCK_KINDS } from '../protocol/lock-document.js';
import type { LockKind } from '../protocol/lock-document.js';
import { boolean, number, oneOf, optional, orElse, record, shortText, wrongType } from './checks.js';

/** The longest that a close can be asked to wait. */
const DAY_MS = 86_400_000;

/** How long a close waits for holders to release. */
export const parseDrain = (given?: { drainMs?: number | undefined }): number =>
  number('drainMs', orElse(record(given).drainMs, 5_000), 0, DAY_MS);

/** Options of a revocation. */
export interface RevokeOptions {
  /** Only the lease of this attempt; by default every lease of the lock. */
  id?: string | undefined;
  /** Stored with the leases asked, for whoever inspects them. At most 1,024 bytes of UTF-8. */
  why?: string | undefined;
  /** Empties the seats at once instead of asking: until the old holders hear of it, only tokens protect. */
  force?: boolean | undefined;
}

/** What `list` picks out. */
export interface ListFilter {
  /** Only locks whose names begin with this. */
  prefix?: string | undefined;
  /** Only locks of this kind. */
  kind?: LockKind | undefined;
  /** Only locks that somebody holds. */
  heldOnly?: boolean | undefined;
}

export function parseRevokeOptions(given?: RevokeOptions): RevokeOptions {
  const { id, why, force = false } = record(given);
  if (id !== undefined && typeof id !== 'string') throw wrongType('id', 'a string', id);
  return { id, why: optional(why, (text) => shortText('why', text)), force: boolean('force', force) };
}

/** A filter, checked. */
export interface ParsedListFilter {
  readonly prefix: string;
  readonly kind: LockKind | undefined;
  readonly heldOnly: boolean;
}

export function parseListFilter(given?: ListFilter): ParsedListFilter {
  const { prefix = '', kind, heldOnly = false } = record(given, 'filter');
  if (typeof prefix !== 'string') throw wrongType('prefix', 'a string', prefix);
  return {
    prefix,
    kind: optional(kind, (value) => oneOf('kind', value, LOCK_KINDS)),
    heldOnly: boolean('heldOnly', heldOnly),
  };
}
