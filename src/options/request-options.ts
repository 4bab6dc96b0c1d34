import { MAX_LEASE_MS, MAX_LIMIT } from '../protocol/lock-document.js';
import type { Mode } from '../protocol/lock-document.js';
import {
  integer,
  leaseLength,
  number,
  oneOf,
  optional,
  orElse,
  outOfRange,
  record,
  shortText,
  wrongType,
} from './checks.js';
import { leaseTerms } from './provider-options.js';
import type { LeaseTerms, Settings } from './provider-options.js';

/** Options of one primitive. */
export interface PrimitiveOptions {
  /** The lease of this primitive's holds, in ms, instead of the provider's. */
  leaseMs?: number | undefined;
  /**
   * For how long a released seat is kept for this provider's next caller while nobody else waits, in ms: 0 to 24 h,
   * default 0, not at all. Of a mutex or a semaphore only. Whoever tries elsewhere meanwhile is refused, as if the lock
   * were held; whoever waits gets it at once.
   */
  keepMs?: number | undefined;
}

/** Options of one semaphore. */
export interface SemaphoreOptions extends PrimitiveOptions {
  /**
   * What to do if another limit is stored while the semaphore is in use, when this object first meets it: `throw`
   * (default) a {@link SemaphoreLimitMismatchError}, `follow` the stored one, or `resize` it. A semaphore that nobody
   * uses takes over the limit unless it is to be followed. Afterwards the object follows what is stored.
   */
  whenLimitDiffers?: WhenLimitDiffers | undefined;
}

/** What a semaphore does about another stored limit. */
export type WhenLimitDiffers = 'throw' | 'follow' | 'resize';

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

/** Options of one request for permits of a semaphore. */
export interface PermitOptions extends AcquireOptions {
  /** How many permits to take together: 1 to the limit, default 1. */
  permits?: number | undefined;
}

export function parsePrimitiveOptions(settings: Settings, given?: PrimitiveOptions): LeaseTerms {
  return leaseTerms(settings, leaseLength('leaseMs', orElse(record(given).leaseMs, settings.leaseMs)));
}

export const parseKeepMs = (given?: PrimitiveOptions): number =>
  number('keepMs', orElse(record(given).keepMs, 0), 0, MAX_LEASE_MS);

/** The seats of a reader-writer lock are not kept: who may enter beside whom is for the server to say. */
export function refuseKeepMs(options?: PrimitiveOptions): void {
  const keepMs = parseKeepMs(options);
  if (keepMs > 0) throw outOfRange('keepMs', '0 for a reader-writer lock', keepMs);
}

/** How long to wait, checked. */
export interface ParsedWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One request, checked. */
export interface ParsedAcquireOptions extends ParsedWait {
  readonly terms: LeaseTerms;
  readonly why: string | undefined;
  /** Set if the caller's own chain of calls holds the lock already, and waits without a bound. */
  readonly isNested?: boolean | undefined;
}

/** One request, and when its time to wait began. */
export interface BegunRequest extends ParsedAcquireOptions {
  readonly startedMs: number;
}

export function parseAcquireOptions(
  settings: Settings,
  terms: LeaseTerms,
  given: AcquireOptions | undefined,
  defaultTimeoutMs: number,
): ParsedAcquireOptions {
  const { leaseMs, why } = record(given);
  return {
    ...parseWait(given, defaultTimeoutMs),
    terms: leaseMs === undefined ? terms : leaseTerms(settings, leaseLength('leaseMs', leaseMs)),
    why: optional(why, (text) => shortText('why', text)),
  };
}

/** An upgrade waits like a request; its lease and what it is for are those of the hold. */
export function parseUpgradeOptions(given: AcquireOptions | undefined, defaultTimeoutMs: number): ParsedWait {
  const { leaseMs, why } = record(given);
  optional(leaseMs, (ms) => leaseLength('leaseMs', ms));
  optional(why, (text) => shortText('why', text));
  return parseWait(given, defaultTimeoutMs);
}

export function parseWait(given: AcquireOptions | undefined, defaultTimeoutMs: number): ParsedWait {
  const { timeoutMs = defaultTimeoutMs, signal } = record(given);
  if (typeof timeoutMs !== 'number') throw wrongType('timeoutMs', 'a number', timeoutMs);
  if (!(timeoutMs >= 0)) throw outOfRange('timeoutMs', 'at least 0', timeoutMs);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw wrongType('signal', 'an AbortSignal', signal);
  }
  return { timeoutMs, signal };
}

export const parseDowngrade = (to: Mode): 'upgradeable' | 'read' =>
  oneOf('to', to, ['upgradeable', 'read']) === 'read' ? 'read' : 'upgradeable';

/** How many permits a semaphore has. */
export const parseLimit = (limit: number): number => integer('limit', limit, 1, MAX_LIMIT);

export const parseWhenLimitDiffers = (given?: SemaphoreOptions): WhenLimitDiffers =>
  oneOf('whenLimitDiffers', orElse(record(given).whenLimitDiffers, 'throw'), ['throw', 'follow', 'resize']);

/** How many permits are asked for: no more than there are, as far as is known. */
export const parsePermits = (given: PermitOptions | undefined, limit: number): number =>
  integer('permits', orElse(record(given).permits, 1), 1, limit);
