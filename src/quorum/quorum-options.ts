import { clientOf } from '../driver-types.js';
import type { DriverDb } from '../driver-types.js';
import { number, optional, outOfRange, knownOptions, wrongType } from '../options/checks.js';
import { PROVIDER_OPTIONS, parseSettings } from '../options/provider-options.js';
import type { LeaseDurations, LockProviderOptions, Settings } from '../options/provider-options.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { MAX_LEASE_MS } from '../protocol/lock-document.js';
import { shareTime } from '../surroundings.js';

/**
 * The options of a `QuorumLockProvider`: `minValidityMs`, and the options of a `LockProvider`, which apply to each
 * store. `pollMs` also bounds the pauses between the rounds of a request.
 */
export interface QuorumLockProviderOptions extends LockProviderOptions {
  /**
   * The least time of the lease, in ms, that must be left when a hold begins. The time left is the lease minus
   * `clockAllowanceMs` and minus the time that the stores took to grant. If less is left, the round has failed. At
   * least 0, and less than `leaseMs` minus `clockAllowanceMs`. Default: half of `leaseMs`.
   */
  minValidityMs?: number | undefined;
}

const MIN_STORES = 3;

/** @throws `TypeError` or `RangeError` unless the list has 3, 5, … different databases. */
export function parseDbs(dbs: readonly DriverDb[]): readonly DriverDb[] {
  const given: unknown = dbs;
  if (!Array.isArray(given)) throw wrongType('dbs', 'an array of Db', given);
  if (given.length < MIN_STORES || given.length % 2 === 0) {
    throw outOfRange('dbs.length', 'odd, and at least 3', given.length);
  }
  for (const [index, db] of dbs.entries()) {
    const at = `dbs[${String(index)}]`;
    if (typeof (db as Partial<DriverDb> | null | undefined)?.command !== 'function') {
      throw wrongType(at, "a Db of the driver, as client.db('name') returns it", db);
    }
    const first = dbs.findIndex(
      (other) => clientOf(other) === clientOf(db) && other.databaseName === db.databaseName,
    );
    if (first < index) {
      throw new TypeError(
        `dbs must name each deployment once, but dbs[${String(first)}] and ${at} are both ${JSON.stringify(db.databaseName)} of the same client`,
      );
    }
  }
  if (!shareTime(dbs)) {
    throw new TypeError(
      'dbs must share one time: give each further set in memory the first one as its option time',
    );
  }
  return [...dbs];
}

const QUORUM_OPTIONS: KeysOf<QuorumLockProviderOptions> = { ...PROVIDER_OPTIONS, minValidityMs: true };

export interface ParsedQuorumOptions {
  readonly settings: Settings;
  readonly minValidityMs: (durations: LeaseDurations) => number;
}

export function parseQuorumOptions(given: QuorumLockProviderOptions | undefined): ParsedQuorumOptions {
  const { minValidityMs, ...options } = knownOptions(given, 'QuorumLockProvider', QUORUM_OPTIONS);
  const settings = parseSettings(options);
  return { settings, minValidityMs: parseMinValidity(minValidityMs) };
}

function parseMinValidity(given: number | undefined): ParsedQuorumOptions['minValidityMs'] {
  const minValidityMs = optional(given, (ms) => number('minValidityMs', ms, 0, MAX_LEASE_MS));
  return ({ leaseMs, clockAllowanceMs }) => {
    const leastMs = minValidityMs ?? leaseMs / 2;
    const mostMs = leaseMs - clockAllowanceMs;
    if (leastMs < mostMs) return leastMs;
    throw new RangeError(
      `minValidityMs must be less than leaseMs minus clockAllowanceMs, which is ${String(mostMs)}, got ${String(leastMs)}`,
    );
  };
}
