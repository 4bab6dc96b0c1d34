import { LOCK_KINDS } from '../protocol/lock-document.js';
import type { LockKind } from '../protocol/lock-document.js';
import { boolean, number, oneOf, optional, orElse, record, shortText, wrongType } from './checks.js';
import type { KeysOf } from './unknown-keys.js';

/** The longest that a close can be asked to wait. */
const DAY_MS = 86_400_000;

/** How long work has to end after it is told to, where nobody says otherwise. */
export const DRAIN_MS = 5_000;

/** How long work has to end after it is told to. */
export interface DrainOptions {
  /** In ms: 0 to 24 h, default 5,000. */
  drainMs?: number | undefined;
}

/** How long whatever ends waits for the work that goes on. @param of - The method that takes the options. */
export const parseDrain = (of: string, given?: DrainOptions): number =>
  number('drainMs', orElse(record(given, of, { drainMs: true }).drainMs, DRAIN_MS), 0, DAY_MS);

/** Options of a revocation. */
export interface RevokeOptions {
  /** Only the lease of this attempt; by default every lease of the lock. */
  id?: string | undefined;
  /** What the revocation is for, which the holders are told. At most 1,024 bytes of UTF-8. */
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

const REVOKE_OPTIONS: KeysOf<RevokeOptions> = { id: true, why: true, force: true };

const LIST_FILTER: KeysOf<ListFilter> = { prefix: true, kind: true, heldOnly: true };

export function parseRevokeOptions(given?: RevokeOptions): RevokeOptions {
  const { id, why, force = false } = record(given, 'revoke', REVOKE_OPTIONS);
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
  const { prefix = '', kind, heldOnly = false } = record(given, 'list', LIST_FILTER, 'filter');
  if (typeof prefix !== 'string') throw wrongType('prefix', 'a string', prefix);
  return {
    prefix,
    kind: optional(kind, (value) => oneOf('kind', value, LOCK_KINDS)),
    heldOnly: boolean('heldOnly', heldOnly),
  };
}
