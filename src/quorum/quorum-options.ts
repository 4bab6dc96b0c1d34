import type { Db } from 'mongodb';
import { number, optional, outOfRange, record, wrongType } from '../options/checks.js';
import { PROVIDER_OPTIONS, parseSettings } from '../options/provider-options.js';
import type { LeaseTerms, LockProviderOptions, Settings } from '../options/provider-options.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { MAX_LEASE_MS } from '../protocol/lock-document.js';

/** Options of a {@link QuorumLockProvider}: those of a provider, for each of its stores. */
export interface QuorumLockProviderOptions extends LockProviderOptions {
  /**
   * How much of a lease must be left when a hold begins, after the time spent on asking the stores and less the clock
   * allowance, in ms: less than the lease less the allowance. Default half of the lease.
   */
  minValidityMs?: number | undefined;
}

const MIN_STORES = 3;

/** @throws `TypeError` or `RangeError` unless these are 3, 5, … databases, none of them twice. */
export function parseDbs(dbs: readonly Db[]): readonly Db[] {
  const given: unknown = dbs;
  if (!Array.isArray(given)) throw wrongType('dbs', 'an array of Db', given);
  if (given.length < MIN_STORES || given.length % 2 === 0) {
    throw outOfRange('dbs.length', 'odd, and at least 3', given.length);
  }
  for (const [index, db] of dbs.entries()) {
    const at = `dbs[${String(index)}]`;
    if (typeof (db as Partial<Db> | null | undefined)?.command !== 'function') {
      throw wrongType(at, "a Db of the driver, as client.db('name') gives it", db);
    }
    const first = dbs.findIndex(
      (other) => other.client === db.client && other.databaseName === db.databaseName,
    );
    if (first < index) {
      throw new TypeError(
        `dbs must name each deployment once, got ${JSON.stringify(db.databaseName)} of one client as dbs[${String(first)}] and ${at}`,
      );
    }
  }
  return [...dbs];
}

const QUORUM_OPTIONS: KeysOf<QuorumLockProviderOptions> = { ...PROVIDER_OPTIONS, minValidityMs: true };

/** The options, checked. */
export interface ParsedQuorumOptions {
  readonly settings: Settings;
  /** How much of a lease of these terms must be left. It throws a `RangeError` where no hold could have as much. */
  readonly minValidityMs: (terms: LeaseTerms) => number;
}

export function parseQuorumOptions(given: QuorumLockProviderOptions | undefined): ParsedQuorumOptions {
  const { minValidityMs, ...options } = record(given, 'QuorumLockProvider', QUORUM_OPTIONS);
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
      `minValidityMs must be less than leaseMs less clockAllowanceMs, which is ${String(mostMs)}, got ${String(leastMs)}`,
    );
  };
}
