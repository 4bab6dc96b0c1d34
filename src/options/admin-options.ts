import { DAY_MS } from '../clock.js';
import { LOCK_KINDS } from '../protocol/lock-document.js';
import type { LockKind } from '../protocol/lock-document.js';
import { boolean, number, oneOf, optional, orElse, knownOptions, shortText, wrongType } from './checks.js';
import type { KeysOf } from './unknown-keys.js';

const MAX_DRAIN_MS = DAY_MS;

export const DRAIN_MS = 5_000;

/** Options of a method that tells work to end: `stop`, `resign`, `handOverTo` or `close`. */
export interface DrainOptions {
  /** How long work may go on after the call has told it to end, in ms: 0 to 24 h, default 5,000. */
  drainMs?: number | undefined;
}

/** @param of - The method that takes the options, for the error message. */
export const parseDrain = (of: string, given?: DrainOptions): number =>
  number('drainMs', orElse(knownOptions(given, of, { drainMs: true }).drainMs, DRAIN_MS), 0, MAX_DRAIN_MS);

/** Options of a revocation. */
export interface RevokeOptions {
  /** The attempt id of the one lease to revoke. Default: every lease that a read of the lock shows. */
  id?: string | undefined;
  /** The reason for the revocation, which the holders are told. At most 1,024 bytes of UTF-8. */
  why?: string | undefined;
  /**
   * Whether to empty the seats at once instead of asking the holders. Default: false. Until the old holders learn of
   * the revocation, only tokens protect the resource.
   */
  force?: boolean | undefined;
}

/** Selects the locks that `list` returns: those that match every given field. Default: all locks. */
export interface ListFilter {
  /** Only locks whose names begin with this text. */
  prefix?: string | undefined;
  /** Only locks of this kind. */
  kind?: LockKind | undefined;
  /** Only locks that have a holder. */
  heldOnly?: boolean | undefined;
}

const REVOKE_OPTIONS: KeysOf<RevokeOptions> = { id: true, why: true, force: true };

const LIST_FILTER: KeysOf<ListFilter> = { prefix: true, kind: true, heldOnly: true };

export function parseRevokeOptions(given?: RevokeOptions): RevokeOptions {
  const { id, why, force = false } = knownOptions(given, 'revoke', REVOKE_OPTIONS);
  if (id !== undefined && typeof id !== 'string') throw wrongType('id', 'a string', id);
  return { id, why: optional(why, (text) => shortText('why', text)), force: boolean('force', force) };
}

export interface ParsedListFilter {
  readonly prefix: string;
  readonly kind: LockKind | undefined;
  readonly heldOnly: boolean;
}

export function parseListFilter(given?: ListFilter): ParsedListFilter {
  const { prefix = '', kind, heldOnly = false } = knownOptions(given, 'list', LIST_FILTER, 'filter');
  if (typeof prefix !== 'string') throw wrongType('prefix', 'a string', prefix);
  return {
    prefix,
    kind: optional(kind, (value) => oneOf('kind', value, LOCK_KINDS)),
    heldOnly: boolean('heldOnly', heldOnly),
  };
}
