// Folder `options`: the options of providers, locks and operators, with their public types, defaults and checks.
// Folders that have options of their own, such as `election` and `quorum`, check them with checks.ts. Every value is
// checked before it is used.

import { DAY_MS } from '../clock.js';
import { quoted } from '../error-text.js';
import { MAX_LEASE_MS } from '../protocol/lock-document.js';
import {
  boolean,
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
import type { KeysOf } from './unknown-keys.js';

/** How waiters learn of their grants. */
export type Wakeups = 'change-stream' | 'polling';

/** Options of a {@link LockProvider}, checked once, when the provider is created. */
export interface LockProviderOptions {
  /** The collection of the lock documents. Default: `distributed.locks`. */
  collectionName?: string | undefined;
  /** How long a lease lasts without an extension, in ms: an integer, 100 ms to 24 h, default 30,000. */
  leaseMs?: number | undefined;
  /**
   * The time between two extensions of a lease, in ms: 1 ms to 24 h. Default: a third of the lease. A larger value
   * counts as a third of the lease.
   */
  extendEveryMs?: number | undefined;
  /**
   * How long before the expiry on the server the process counts a hold as lost, in ms. The guarantees allow the clocks
   * of the replica set's members to differ by this time at a failover. From 0 to less than half of the lease. Default:
   * a tenth of the lease, at most 1,000.
   */
  clockAllowanceMs?: number | undefined;
  /**
   * How long one call to the store may take, in ms: 10 to 600,000, default 5,000. The creation of the index may take
   * ten times as long.
   */
  storeTimeoutMs?: number | undefined;
  /**
   * The first and the longest pause between two reads of a provider that polls for its waiters, in ms. The pauses grow
   * from the first to the longest. Up to a quarter of each pause is taken off at random. Default: 10, and the larger of
   * 800 and `min`. Without a change stream, observed leaders are read every `max`.
   */
  pollMs?:
    | {
        /** The first pause of a wait, in ms: 1 ms to 24 h. */
        min?: number | undefined;
        /** The longest pause of a wait, in ms: `min` to 24 h. */
        max?: number | undefined;
      }
    | undefined;
  /**
   * How waiters learn of their grants. `auto` (default): by a change stream if the provider can open one, and otherwise
   * by polling. `polling`: always by polling. `change-stream`: by a change stream; requests that have to wait fail if
   * the stream is refused.
   */
  wakeups?: 'auto' | Wakeups | undefined;
  /**
   * How long the change stream stays open after the last wait and after the last use of a kept seat, in ms: 0 to 24 h,
   * default 10,000. The stream also closes after this time if no wait is at the head of its queue and no queue has
   * moved. While the stream is then closed, a provider that waits or keeps a seat reads its locks once a second. For
   * kept seats and for queues that do not move, a time below one second counts as one second.
   */
  wakeIdleMs?: number | undefined;
  /**
   * How long an unused lock document is kept at least, in ms: from two leases to ten years (3,650 days), default
   * 7 days.
   */
  retentionMs?: number | undefined;
  /** The largest number of holders and waiters of one lock: an integer, 1 to 100,000, default 10,000. */
  maxMembers?: number | undefined;
  /** A name of the process for people, shown beside the process id. At most 1,024 bytes of UTF-8. */
  label?: string | undefined;
  /** Whether the provider creates the index that purges unused lock documents, in the background. Default: true. */
  createIndexes?: boolean | undefined;
}

/**
 * The options of a provider after the checks. Only `extendEveryMs` and `clockAllowanceMs` may lack their defaults:
 * `leaseDurations` computes these from the length of a lease.
 */
export interface Settings {
  readonly collectionName: string;
  readonly leaseMs: number;
  readonly extendEveryMs: number | undefined;
  readonly clockAllowanceMs: number | undefined;
  readonly storeTimeoutMs: number;
  readonly pollMs: { readonly min: number; readonly max: number };
  readonly wakeups: 'auto' | Wakeups;
  /** Why the provider polls, if `wakeups` is `polling`. */
  readonly pollingWhy: string;
  readonly wakeIdleMs: number;
  readonly retentionMs: number;
  readonly maxMembers: number;
  readonly label: string | undefined;
  readonly createIndexes: boolean;
}

/** The length of one lease, and the durations that go with it. */
export interface LeaseDurations {
  readonly leaseMs: number;
  readonly extendEveryMs: number;
  readonly clockAllowanceMs: number;
  readonly retentionMs: number;
  /** For an election: by how much the stored lease of a leader is longer than `leaseMs`, in ms. */
  readonly transitionMs?: number;
}

/** The longest time that a lease or a place with these durations lasts without an extension, in ms. */
export const storedLeaseMs = ({ leaseMs, transitionMs = 0 }: LeaseDurations): number =>
  leaseMs + transitionMs;

export const PROVIDER_OPTIONS: KeysOf<LockProviderOptions> = {
  collectionName: true,
  leaseMs: true,
  extendEveryMs: true,
  clockAllowanceMs: true,
  storeTimeoutMs: true,
  pollMs: true,
  wakeups: true,
  wakeIdleMs: true,
  retentionMs: true,
  maxMembers: true,
  label: true,
  createIndexes: true,
};

export function parseProviderOptions(given?: LockProviderOptions): Settings {
  return parseSettings(knownOptions(given, 'LockProvider', PROVIDER_OPTIONS));
}

/** Checks the values of options. The caller has checked the keys of `given`. */
export function parseSettings(given: LockProviderOptions): Settings {
  const { leaseMs: lease = 30_000, pollMs, wakeups = 'auto', retentionMs, ...options } = given;
  const leaseMs = leaseLength('leaseMs', lease);
  const polls = knownOptions(pollMs, 'pollMs', { min: true, max: true }, 'pollMs');
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
  leaseDurations(settings, leaseMs);
  return settings;
}

/** The durations of a lease of this length. `retentionMs` is at least twice this length. */
export function leaseDurations(settings: Settings, leaseMs: number): LeaseDurations {
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

function collectionName(value: unknown): string {
  if (typeof value !== 'string') throw wrongType('collectionName', 'a string', value);
  if (value === '' || value.startsWith('.') || /[$\0]|^system\./.test(value)) {
    throw outOfRange('collectionName', 'a legal name of a collection', value);
  }
  return value;
}

/** The most bytes of `database.collection` that a server from version 4.4 accepts for an unsharded collection. */
const MAX_NAMESPACE_BYTES = 255;

/** Checks that the names of the database and the collection together are short enough for the server. */
export function parseNamespace(database: string, collection: string): void {
  const bytes = Buffer.byteLength(`${database}.${collection}`);
  if (bytes <= MAX_NAMESPACE_BYTES) return;
  throw new RangeError(
    `collectionName must be short enough for ${String(MAX_NAMESPACE_BYTES)} bytes of UTF-8 together with the name of the database, got ${String(bytes)} for ${quoted(`${database}.${collection}`)}`,
  );
}
