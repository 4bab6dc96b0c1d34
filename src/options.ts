import { inspect } from 'node:util';
import { LOCK_KINDS, MAX_LEASE_MS, MIN_LEASE_MS } from './protocol/lock-document.js';
import type { LockKind } from './protocol/lock-document.js';

/** How waiters learn of their grants. */
export type Wakeups = 'change-stream' | 'polling';

/** Options of a {@link LockProvider}. All are checked once, when the provider is made. */
export interface LockProviderOptions {
  /** The collection of the lock documents. Default `distributed.locks`. */
  collectionName?: string | undefined;
  /** How long a lease lives without an extension, in ms: 100 ms to 24 h, default 30,000. */
  leaseMs?: number | undefined;
  /** How often a lease is extended, in ms. Default, and at most, a third of the lease. */
  extendEveryMs?: number | undefined;
  /**
   * How long before its expiry on the server a hold counts as lost here, in ms: room for the clocks of the replica
   * set's members to differ at a failover. Less than half of the lease; default a tenth of it, at most 1,000.
   */
  clockAllowanceMs?: number | undefined;
  /** The bound of one call to the store, in ms: 10 to 600,000, default 5,000. */
  storeTimeoutMs?: number | undefined;
  /** The shortest and the longest pause between two polls, in ms, where polling is in use. Default 10 and 800. */
  pollMs?:
    | {
        /** The first pause of a wait, in ms. */
        min?: number | undefined;
        /** The longest pause of a wait, in ms. */
        max?: number | undefined;
      }
    | undefined;
  /** `auto` (default) waits by a change stream where the server has one, and polls where it has not. */
  wakeups?: 'auto' | Wakeups | undefined;
  /** How long the change stream stays open after the last wait, in ms: 0 to 24 h, default 10,000. */
  wakeIdleMs?: number | undefined;
  /** How long an unused lock document is kept, in ms: at least two leases, default 7 days. */
  retentionMs?: number | undefined;
  /** The most holders and waiters that one lock may have: 1 to 100,000, default 10,000. */
  maxMembers?: number | undefined;
  /** Who holds, for people: shown beside the process id. At most 1,024 bytes of UTF-8. */
  label?: string | undefined;
  /** Whether the index that purges unused lock documents is made in the background. Default true. */
  createIndexes?: boolean | undefined;
}

/** Options of one primitive. */
export interface PrimitiveOptions {
  /** The lease of this primitive's holds, in ms, instead of the provider's. */
  leaseMs?: number | undefined;
}

/** Options of one request. */
export interface AcquireOptions {
  /** How long to wait, in ms: 0 or more. Default: no bound for `acquire`, 0 (one try) for `tryAcquire`. */
  timeoutMs?: number | undefined;
  /** Ends the wait: the request rejects with the signal's reason. Has no effect on a lock already granted. */
  signal?: AbortSignal | undefined;
  /** The lease of this hold, in ms, instead of the primitive's. */
  leaseMs?: number | undefined;
  /** What the lock is wanted for, shown to whoever waits for it. At most 1,024 bytes of UTF-8. */
  why?: string | undefined;
}

/** The provider's options with every default filled in. */
export interface Settings {
  readonly collectionName: string;
  readonly leaseMs: number;
  readonly extendEveryMs: number | undefined;
  readonly clockAllowanceMs: number | undefined;
  readonly storeTimeoutMs: number;
  readonly pollMs: { readonly min: number; readonly max: number };
  readonly wakeups: 'auto' | Wakeups;
  /** Why it polls, where `wakeups` is polling. */
  readonly pollingWhy: string;
  readonly wakeIdleMs: number;
  readonly retentionMs: number;
  readonly maxMembers: number;
  readonly label: string | undefined;
  readonly createIndexes: boolean;
}

/** What follows from the length of one lease. */
export interface LeaseTerms {
  readonly leaseMs: number;
  readonly extendEveryMs: number;
  readonly clockAllowanceMs: number;
  readonly retentionMs: number;
}

const DAY_MS = 86_400_000;
const MAX_TEXT_BYTES = 1_024;

export function parseProviderOptions(given?: LockProviderOptions): Settings {
  const { leaseMs: lease = 30_000, pollMs = {}, wakeups = 'auto', retentionMs, ...options } = record(given);
  const leaseMs = leaseLength('leaseMs', lease);
  const polls = record(pollMs, 'pollMs');
  const min = number('pollMs.min', orElse(polls.min, 10), 1, DAY_MS);
  const max = number('pollMs.max', orElse(polls.max, Math.max(800, min)), min, DAY_MS);
  const settings: Settings = Object.freeze({
    collectionName: collectionName(orElse(options.collectionName, 'distributed.locks')),
    leaseMs,
    extendEveryMs: optional(options.extendEveryMs, (ms) => number('extendEveryMs', ms, 1, MAX_LEASE_MS)),
    clockAllowanceMs: optional(options.clockAllowanceMs, (ms) =>
      number('clockAllowanceMs', ms, 0, MAX_LEASE_MS),
    ),
    storeTimeoutMs: number('storeTimeoutMs', orElse(options.storeTimeoutMs, 5_000), 10, 600_000),
    pollMs: Object.freeze({ min, max }),
    wakeups: oneOf('wakeups', wakeups, ['auto', 'change-stream', 'polling']),
    pollingWhy: 'asked for by the option wakeups',
    wakeIdleMs: number('wakeIdleMs', orElse(options.wakeIdleMs, 10_000), 0, DAY_MS),
    retentionMs: number(
      'retentionMs',
      orElse(retentionMs, Math.max(7 * DAY_MS, 2 * leaseMs)),
      2 * leaseMs,
      3_650 * DAY_MS,
    ),
    maxMembers: integer('maxMembers', orElse(options.maxMembers, 10_000), 1, 100_000),
    label: optional(options.label, (label) => shortText('label', label)),
    createIndexes: boolean('createIndexes', orElse(options.createIndexes, true)),
  });
  leaseTerms(settings, leaseMs);
  return settings;
}

/** The terms of a lease of this length; a longer one than the provider's keeps its document longer too. */
export function leaseTerms(settings: Settings, leaseMs: number): LeaseTerms {
  const { extendEveryMs = leaseMs / 3, clockAllowanceMs = Math.min(1_000, leaseMs / 10) } = settings;
  if (clockAllowanceMs >= leaseMs / 2) {
    throw new RangeError(
      `clockAllowanceMs must be less than half of leaseMs, got clockAllowanceMs = ${String(clockAllowanceMs)} and leaseMs = ${String(leaseMs)}`,
    );
  }
  return {
    leaseMs,
    extendEveryMs: Math.min(extendEveryMs, leaseMs / 3),
    clockAllowanceMs,
    retentionMs: Math.max(settings.retentionMs, 2 * leaseMs),
  };
}

export function parsePrimitiveOptions(settings: Settings, given?: PrimitiveOptions): LeaseTerms {
  return leaseTerms(settings, leaseLength('leaseMs', orElse(record(given).leaseMs, settings.leaseMs)));
}

/** One request, checked. */
export interface ParsedAcquireOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly terms: LeaseTerms;
  readonly why: string | undefined;
}

export function parseAcquireOptions(
  settings: Settings,
  terms: LeaseTerms,
  given: AcquireOptions | undefined,
  defaultTimeoutMs: number,
): ParsedAcquireOptions {
  const { timeoutMs = defaultTimeoutMs, signal, leaseMs, why } = record(given);
  if (typeof timeoutMs !== 'number') throw wrongType('timeoutMs', 'a number', timeoutMs);
  if (!(timeoutMs >= 0)) throw outOfRange('timeoutMs', 'at least 0', timeoutMs);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw wrongType('signal', 'an AbortSignal', signal);
  return {
    timeoutMs,
    signal,
    terms: leaseMs === undefined ? terms : leaseTerms(settings, leaseLength('leaseMs', leaseMs)),
    why: optional(why, (text) => shortText('why', text)),
  };
}

/** Checks a lock's name: 1 to 1,024 bytes of well-formed UTF-8, any character, no normalisation. */
export function parseName(name: unknown): string {
  if (typeof name !== 'string') throw wrongType('name', 'a string', name);
  if (name === '') throw new RangeError('name must not be empty');
  if (/\p{Surrogate}/u.test(name)) throw new TypeError('name must be well-formed: it has a lone surrogate');
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_TEXT_BYTES) {
    throw new RangeError(
      `name must be at most ${String(MAX_TEXT_BYTES)} bytes of UTF-8, got ${String(bytes)}`,
    );
  }
  return name;
}

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

function leaseLength(option: string, value: unknown): number {
  return integer(option, value, MIN_LEASE_MS, MAX_LEASE_MS);
}

function integer(option: string, value: unknown, low: number, high: number): number {
  const parsed = number(option, value, low, high);
  if (!Number.isInteger(parsed)) throw outOfRange(option, 'an integer', parsed);
  return parsed;
}

function number(option: string, value: unknown, low: number, high: number): number {
  if (typeof value !== 'number') throw wrongType(option, 'a number', value);
  if (!(value >= low && value <= high)) {
    throw outOfRange(option, `between ${String(low)} and ${String(high)}`, value);
  }
  return value;
}

function boolean(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(option, 'a boolean', value);
  return value;
}

function oneOf<const T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (typeof value !== 'string') throw wrongType(option, 'a string', value);
  if (!allowed.includes(value)) throw outOfRange(option, `one of ${allowed.join(', ')}`, value);
  return value;
}

function shortText(option: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongType(option, 'a string', value);
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_TEXT_BYTES) {
    throw new RangeError(
      `${option} must be at most ${String(MAX_TEXT_BYTES)} bytes of UTF-8, got ${String(bytes)}`,
    );
  }
  return value;
}

function collectionName(value: unknown): string {
  if (typeof value !== 'string') throw wrongType('collectionName', 'a string', value);
  if (value === '' || value.includes('$') || value.includes('\0') || value.startsWith('system.')) {
    throw outOfRange('collectionName', 'a legal name of a collection', value);
  }
  return value;
}

/** The default stands for what is not given; `null` is given, and wrong. */
const orElse = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);

function record<T extends object>(value: T | undefined, option = 'options'): Partial<T> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || (value as T | null) === null) throw wrongType(option, 'an object', value);
  return value;
}

function optional<T, R>(value: T | undefined, parse: (value: T) => R): R | undefined {
  return value === undefined ? undefined : parse(value);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  return typeof value === 'bigint' ? String(value) : inspect(value, { depth: 0 });
}

function wrongType(option: string, rule: string, value: unknown): TypeError {
  return new TypeError(`${option} must be ${rule}, got ${shown(value)}`);
}

function outOfRange(option: string, rule: string, value: unknown): RangeError {
  return new RangeError(`${option} must be ${rule}, got ${shown(value)}`);
}
