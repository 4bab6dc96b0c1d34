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
  knownOptions,
  shortText,
  wrongType,
} from './checks.js';
import { leaseDurations } from './provider-options.js';
import type { LeaseDurations, Settings } from './provider-options.js';
import type { KeysOf } from './unknown-keys.js';

/** Options of one mutex, reader-writer lock or semaphore. */
export interface PrimitiveOptions {
  /**
   * The lease of the holds of this lock object, in ms: an integer, 100 ms to 24 h. Default: the lease of the provider.
   */
  leaseMs?: number | undefined;
  /**
   * How long a released seat is kept for the next caller of this provider, in ms: 0 to 24 h, default 0 (not kept). A
   * seat is kept only while the provider knows that no other process waits (`passes` allows exceptions). A provider
   * that polls keeps no further seat.
   *
   * A try of another process finds a kept seat taken. If a request of another process waits, this provider gives back
   * an idle seat as soon as it learns of that request. Usually its change stream reports the request at once. But if no
   * caller has used a kept seat of this provider for `wakeIdleMs` (at least a second), the provider may learn of the
   * request up to a second later. If the provider has lost its change stream, it may learn of the request
   * only at the next extension of the seat's lease.
   *
   * A reader-writer lock keeps only reads: the readers of this provider that have the same `leaseMs` share one seat,
   * also at the same time, until a request or an upgrade waits for the lock.
   *
   * A lock of a quorum refuses a value above 0.
   */
  keepMs?: number | undefined;
  /**
   * How often a kept seat of a mutex or a semaphore may pass to the next caller of this provider although another
   * process waits: an integer, 0 to 255, default 0. A value above 0 needs `keepMs`. Such passes delay a waiter of
   * another process by at most `passes` holds of this provider. No such pass begins later than `keepMs` after the
   * first instant at which this provider had the seat and knew of a waiter. The passes and this time are counted anew
   * after another process has had the seat.
   * Whatever this option says, the seat of a mutex is given back after 255 passes of one grant, and a seat of a
   * semaphore after 15. A reader-writer lock refuses a value above 0, because readers share a kept read only until a
   * request or an upgrade waits for the lock.
   */
  passes?: number | undefined;
}

/** Options of one semaphore. */
export interface SemaphoreOptions extends PrimitiveOptions {
  /**
   * Decides what a request does if the semaphore is in use and its stored limit differs from the limit of this object:
   * `throw` (default) a {@link SemaphoreLimitMismatchError}, `follow` the stored limit, or `resize` the semaphore to
   * the limit of this object. An idle semaphore takes over the limit of this object, unless the option is `follow`.
   * Once the two limits agree, the object follows the stored limit.
   */
  whenLimitDiffers?: WhenLimitDiffers | undefined;
}

/** The ways in which a semaphore object treats a stored limit that differs from its own. */
export type WhenLimitDiffers = 'throw' | 'follow' | 'resize';

/** Options of one request. */
export interface AcquireOptions {
  /**
   * How long to wait, in ms: 0 or more. Default: 0 (one try) for methods whose names begin with `try`, and no bound for
   * all other methods.
   */
  timeoutMs?: number | undefined;
  /** Ends the wait: the request rejects with the reason of the signal. An abort after the grant has no effect. */
  signal?: AbortSignal | undefined;
  /** The lease of this hold, in ms: an integer, 100 ms to 24 h. Default: the lease of the lock object. */
  leaseMs?: number | undefined;
  /** The purpose of the hold, which processes that wait for the lock can see. At most 1,024 bytes of UTF-8. */
  why?: string | undefined;
}

/** Options of one request for permits of a semaphore. */
export interface PermitOptions extends AcquireOptions {
  /** How many permits to take together: 1 to the limit, default 1. */
  permits?: number | undefined;
}

/** The largest value of `passes`: the number of tokens that one grant of a mutex reserves for passes. */
const MAX_PASSES = 255;

const PRIMITIVE_OPTIONS: KeysOf<PrimitiveOptions> = { leaseMs: true, keepMs: true, passes: true };

const SEMAPHORE_OPTIONS: KeysOf<SemaphoreOptions> = { ...PRIMITIVE_OPTIONS, whenLimitDiffers: true };

const ACQUIRE_OPTIONS: KeysOf<AcquireOptions> = { timeoutMs: true, signal: true, leaseMs: true, why: true };

const PERMIT_OPTIONS: KeysOf<PermitOptions> = { ...ACQUIRE_OPTIONS, permits: true };

export interface ParsedKeeping {
  /** How long a released seat is kept, in ms; 0: not at all. */
  readonly keepMs: number;
  /** How often a seat may pass to the next caller although another process waits. */
  readonly passes: number;
}

export const NOT_KEPT: ParsedKeeping = { keepMs: 0, passes: 0 };

export interface ParsedPrimitiveOptions {
  readonly durations: LeaseDurations;
  readonly keeping: ParsedKeeping;
}

export interface ParsedSemaphoreOptions extends ParsedPrimitiveOptions {
  readonly whenLimitDiffers: WhenLimitDiffers;
}

/** @param of - The method that creates the primitive, for the error message. */
export const parsePrimitiveOptions = (
  settings: Settings,
  of: string,
  given?: PrimitiveOptions,
): ParsedPrimitiveOptions => primitive(settings, knownOptions(given, of, PRIMITIVE_OPTIONS));

export function parseSemaphoreOptions(
  settings: Settings,
  of: string,
  given?: SemaphoreOptions,
): ParsedSemaphoreOptions {
  const options = knownOptions(given, of, SEMAPHORE_OPTIONS);
  const whenLimitDiffers = orElse(options.whenLimitDiffers, 'throw');
  return {
    ...primitive(settings, options),
    whenLimitDiffers: oneOf('whenLimitDiffers', whenLimitDiffers, ['throw', 'follow', 'resize']),
  };
}

const primitive = (settings: Settings, options: PrimitiveOptions): ParsedPrimitiveOptions => ({
  durations: leaseDurations(settings, leaseLength('leaseMs', orElse(options.leaseMs, settings.leaseMs))),
  keeping: parseKeeping(options),
});

function parseKeeping(options: PrimitiveOptions): ParsedKeeping {
  const keepMs = number('keepMs', orElse(options.keepMs, 0), 0, MAX_LEASE_MS);
  const passes = integer('passes', orElse(options.passes, 0), 0, MAX_PASSES);
  if (passes > 0 && keepMs === 0) throw outOfRange('passes', '0 without keepMs', passes);
  return { keepMs, passes };
}

/** @param of - The lock that cannot keep seats, in words for the error message. */
export function refuseKeepMs({ keepMs }: ParsedKeeping, of: string): void {
  if (keepMs > 0) throw outOfRange('keepMs', `0 for ${of}`, keepMs);
}

/** @param of - The lock that refuses `passes`, in words for the error message. */
export function refusePasses({ passes }: ParsedKeeping, of: string): void {
  if (passes > 0) throw outOfRange('passes', `0 for ${of}`, passes);
}

/** The options that bound a wait, after the checks. */
export interface ParsedWait {
  /** `Infinity` if there is no bound. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

export interface ParsedAcquireOptions extends ParsedWait {
  readonly durations: LeaseDurations;
  readonly why: string | undefined;
}

/**
 * The calls that wait, as error messages name them: `acquire` also stands for `acquireRead`, for example. A call whose
 * name begins with `try` makes one try unless `timeoutMs` is given.
 */
export type WaitingCall =
  'acquire' | 'tryAcquire' | 'acquireAll' | 'tryAcquireAll' | 'upgrade' | 'tryUpgrade' | 'untilElected';

export function parseAcquireOptions(
  settings: Settings,
  durations: LeaseDurations,
  given: AcquireOptions | undefined,
  of: WaitingCall,
): ParsedAcquireOptions {
  const { leaseMs, why, ...wait } = knownOptions(given, of, ACQUIRE_OPTIONS);
  return {
    ...parseWaitOf(wait, of),
    durations: leaseMs === undefined ? durations : leaseDurations(settings, leaseLength('leaseMs', leaseMs)),
    why: optional(why, (text) => shortText('why', text)),
  };
}

/** An upgrade keeps the lease and the `why` of its hold, so the options `leaseMs` and `why` are only checked. */
export function parseUpgradeOptions(given: AcquireOptions | undefined, of: WaitingCall): ParsedWait {
  const { leaseMs, why, ...wait } = knownOptions(given, of, ACQUIRE_OPTIONS);
  optional(leaseMs, (ms) => leaseLength('leaseMs', ms));
  optional(why, (text) => shortText('why', text));
  return parseWaitOf(wait, of);
}

type WaitOptions = Pick<AcquireOptions, 'timeoutMs' | 'signal'>;

export const parseWait = (given: WaitOptions | undefined, of: WaitingCall): ParsedWait =>
  parseWaitOf(knownOptions(given, of, { timeoutMs: true, signal: true }), of);

function parseWaitOf({ timeoutMs: given, signal }: WaitOptions, of: WaitingCall): ParsedWait {
  const timeoutMs = orElse(given, of.startsWith('try') ? 0 : Infinity);
  if (typeof timeoutMs !== 'number') throw wrongType('timeoutMs', 'a number', timeoutMs);
  if (!(timeoutMs >= 0)) throw outOfRange('timeoutMs', 'at least 0', timeoutMs);
  return { timeoutMs, signal: parseSignal(signal) };
}

export function parseSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw wrongType('signal', 'an AbortSignal', signal);
}

export const parseDowngrade = (to: Mode): 'upgradeable' | 'read' =>
  oneOf('to', to, ['upgradeable', 'read']) === 'read' ? 'read' : 'upgradeable';

export const parseLimit = (limit: number): number => integer('limit', limit, 1, MAX_LIMIT);

export interface ParsedPermitOptions {
  readonly permits: number;
  readonly request: AcquireOptions;
}

export function parsePermitOptions(
  given: PermitOptions | undefined,
  limit: number,
  of: WaitingCall,
): ParsedPermitOptions {
  const { permits, ...request } = knownOptions(given, of, PERMIT_OPTIONS);
  return { permits: parsePermits(permits, limit), request };
}

/** Checks that a request asks for 1 permit at least, and for no more than the known limit. */
export const parsePermits = (permits: number | undefined, limit: number): number =>
  integer('permits', orElse(permits, 1), 1, limit);
