import type { Document } from 'mongodb';

import type { Mode } from '../../src/protocol/lock-document.js';
import { versionOf } from '../../src/testing/judge/lock-version.js';
import type { Version } from '../../src/testing/judge/lock-version.js';
import { hasToken, lastTokenOf } from '../../src/testing/judge/token-blocks.js';
import type { History } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';
import { replay } from './oplog-replay.js';
import type { Oplog } from './oplog-replay.js';
import type { Change } from './oplog-entry.js';
import { givenIn } from '../../src/testing/judge/step.js';
import type { Step } from '../../src/testing/judge/step.js';
import { wrongIn } from '../../src/testing/judge/version-rules.js';

/** A lease with a new token, by a grant or by a change of mode, and with those that it reserves. */
export interface Grant {
  readonly lock: string;
  readonly id: string;
  readonly token: number;
  readonly keeps?: number | undefined;
  readonly mode?: Mode | undefined;
  readonly permits?: number | undefined;
  /** The candidate of an election. */
  readonly candidateId?: string | undefined;
  readonly term: number;
  readonly wallMs: number;
}

export interface OplogResult {
  readonly violations: readonly Violation[];
  readonly versions: number;
  /** In the order in which they were given. */
  readonly grants: readonly Grant[];
}

export interface Tolerance {
  /** By how much the clocks that gave and judged a lease may differ. */
  readonly toleranceMs: number;
  /**
   * Whether a document may have been deleted from outside, under its holders, at a server time from `wallMs` to
   * `latestMs`. Default: never.
   */
  readonly mayVanish?: (wallMs: number, latestMs: number) => boolean;
  /** Whether the server may have stood still at this server time: then `wall` may be late by all of that. Default: never. */
  readonly mayStandStill?: (wallMs: number) => boolean;
  /** Whether this version was put there from outside, as an old copy. Default: none. */
  readonly isFromOutside?: (change: Change) => boolean;
}

const CHECKER = 'oplog';

/** An update began at most this long after its `wall`, also if no entry follows soon. 228 ms were seen. */
const LONGEST_TICK_MS = 500;

export async function checkOplog(oplog: Oplog, tolerance: Tolerance): Promise<OplogResult> {
  const judge = new VersionJudge(tolerance);
  await replay(oplog, (change) => {
    judge.take(change);
  });
  return judge;
}

/** Judges every version alone and by the version before it. */
export class VersionJudge implements OplogResult {
  readonly violations: Violation[] = [];
  readonly grants: Grant[] = [];
  versions = 0;
  readonly #toleranceMs: number;
  readonly #mayVanish: (wallMs: number, latestMs: number) => boolean;
  readonly #mayStandStill: (wallMs: number) => boolean;
  readonly #isFromOutside: (change: Change) => boolean;
  /** The last token by name, also while there is no document: tokens rise for ever. */
  readonly #lastTokens = new Map<string, number>();
  /** The newest version of each lock: what is `after` now is `before` next. */
  readonly #newest = new Map<string, { readonly document: Document; readonly version: Version }>();

  constructor({
    toleranceMs,
    mayVanish = () => false,
    mayStandStill = () => false,
    isFromOutside = () => false,
  }: Tolerance) {
    this.#toleranceMs = toleranceMs;
    this.#mayVanish = mayVanish;
    this.#mayStandStill = mayStandStill;
    this.#isFromOutside = isFromOutside;
  }

  take(change: Change): void {
    this.versions += 1;
    // No step of the library led to it. The last token stays: the next grant has to give a higher one (E10).
    if (this.#isFromOutside(change)) return;
    const { name, before, after } = change;
    try {
      if (after === null) {
        this.#judgeVanished(change);
        return;
      }
      const step = this.#step(change, this.#versionOf(name, before), this.#versionOf(name, after));
      for (const { invariant, what } of wrongIn(step)) this.#report(change, invariant, what);
      this.#keep(change, step);
    } catch (error) {
      this.#report(change, 'S1', `it is no lock document: ${String(error)}`);
    }
  }

  /** The purge deletes only documents without a live lease. */
  #judgeVanished(change: Change): void {
    const latestMs = this.#latestMs(change);
    if (this.#mayVanish(change.wallMs, latestMs)) return;
    for (const { id, expiresAt } of this.#versionOf(change.name, change.before).leases) {
      if (expiresAt.getTime() <= latestMs) continue;
      this.#report(change, 'S5', `the document vanishes with ${id} in it, until ${expiresAt.toISOString()}`);
    }
  }

  /** The latest server time of the update. */
  #latestMs({ wallMs, laterWallMs = wallMs }: Change): number {
    const tickMs = this.#mayStandStill(wallMs) ? Infinity : LONGEST_TICK_MS;
    return Math.max(wallMs + this.#toleranceMs, Math.min(laterWallMs, wallMs + tickMs));
  }

  #step(change: Change, was: Version, is: Version): Step {
    const { before, after, wallMs } = change;
    return {
      ...{ before: was, after: is, wake: String(after?.['wake']) },
      overBeforeMs: this.#latestMs(change),
      // A real server reads its clock when an update begins, and may stand still before it logs the update.
      earliestMs: this.#toleranceMs === 0 ? wallMs : -Infinity,
      lastToken: this.#lastToken(change),
      purgeAtMs: { before: purgeAtMs(before), after: purgeAtMs(after) },
    };
  }

  /**
   * The last token that binds the next one. The first token of a new document is the server's time, in microseconds. If a
   * document is lost in the millisecond of its last token, another one may be made before the clock has passed that token:
   * the exception of guarantee 3.
   */
  #lastToken(change: Change): number {
    const { name, before, wallMs } = change;
    const last = this.#lastTokens.get(name) ?? 0;
    if (before !== null || !this.#mayVanish(wallMs, this.#latestMs(change))) return last;
    return wallMs <= Math.floor(last / 1_000) ? 0 : last;
  }

  #keep({ name: lock, term, wallMs }: Change, step: Step): void {
    for (const lease of [...givenIn(step)].sort((a, b) => a.token - b.token)) {
      const { id, token, keeps, mode, permits, candidateId } = lease;
      this.grants.push({ lock, id, token, keeps, mode, permits, candidateId, term, wallMs });
    }
    const tokens = step.after.leases.map(lastTokenOf);
    const last = this.#lastTokens.get(lock) ?? 0;
    this.#lastTokens.set(lock, Math.max(last, step.after.fence, ...tokens));
  }

  #versionOf(name: string, document: Document | null): Version {
    if (document === null) return versionOf(null);
    const newest = this.#newest.get(name);
    if (newest?.document === document) return newest.version;
    const version = versionOf(document);
    this.#newest.set(name, { document, version });
    return version;
  }

  #report({ name, term, wallMs, ts }: Change, invariant: Violation['invariant'], what: string): void {
    const at = `${new Date(wallMs).toISOString()}, term ${term}, ts ${ts.t}.${ts.i}`;
    this.violations.push({ invariant, checker: CHECKER, what: `${name}: ${what} (${at})` });
  }
}

const purgeAtMs = (document: Document | null): number => Number(document?.['purgeAt'] ?? 0);

/**
 * S2: every reported grant is in the oplog, with its token as the token of a lease or one that the lease reserves. So no
 * grant was rolled back.
 */
export function checkGranted(
  history: History,
  grants: readonly Grant[],
  leaveOut: (lock: string) => boolean = () => false,
): readonly Violation[] {
  const given = new Map<string, Grant[]>();
  for (const grant of grants) given.set(keyOf(grant), [...(given.get(keyOf(grant)) ?? []), grant]);
  return history.workers.flatMap((lines, worker) => {
    const locks = new Map<number, string>();
    const ids = new Map<number, string>();
    return lines.flatMap((line): readonly Violation[] => {
      if (line.type === 'asked') locks.set(line.ask, line.lock);
      if (line.type === 'granted') ids.set(line.ask, line.id);
      if (line.type !== 'granted' && line.type !== 'changed') return [];
      const [lock = '', id = ''] = [locks.get(line.ask), ids.get(line.ask)];
      const isGiven = given.get(keyOf({ lock, id }))?.some((grant) => hasToken(grant, line.token)) === true;
      if (leaveOut(lock) || isGiven) return [];
      const what = `${lock}: worker ${worker} believes in token ${line.token} of ${id} (ask ${line.ask}), which no version of the document has`;
      return [{ invariant: 'S2', checker: CHECKER, what }];
    });
  });
}

const keyOf = ({ lock, id }: Pick<Grant, 'lock' | 'id'>): string => `${id} ${lock}`;
