import { Timestamp } from 'mongodb';
import type { Document } from 'mongodb';

import type { RunLine } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import { at, history } from '../../judge/written-history.js';
import type { Lines } from '../../judge/written-history.js';
import { WALL_MS } from '../../judge/written-versions.js';
import type { Evidence } from '../world/world.js';
import type { TermOfJob } from './job-checker.js';
import type { WhenOf } from './server-time.js';

/** Hand-written runs for tests of the judges. Times are in ms from 0 on. */
export const AHEAD_MS = WALL_MS - Number(at(0)) / 1e6;

export const date = (ms: number): Date => new Date(WALL_MS + ms);

export const when: WhenOf = (wallMs) => ({ earliestMs: wallMs - AHEAD_MS, latestMs: wallMs - AHEAD_MS + 1 });

export const evidence = (
  workers: readonly Lines[],
  plan: Partial<Evidence['plan']>,
  faults: readonly (readonly [fromMs: number, untilMs: number])[] = [],
  terms: readonly TermOfJob[] = [],
): Evidence => {
  const run = faults.flatMap(([fromMs, untilMs], fault): RunLine[] => [
    { type: 'fault begins', atNs: at(fromMs), fault, what: 'replies are late' },
    { type: 'fault ends', atNs: at(untilMs), fault, what: 'replies are late' },
  ]);
  const frame = { leaseMs: 600, clockAllowanceMs: 60, faults: [], processes: [], ...plan };
  const jobs = { terms };
  const written = { plan: frame, history: { ...history(workers), run }, jobs, aheadMs: AHEAD_MS };
  return written as unknown as Evidence;
};

export type Written = readonly (readonly [atMs: number, document: Document])[];

export const changesIn = (name: string, versions: Written): readonly Change[] =>
  versions.map(([ms, after], index) => ({
    ...{ name, after, before: versions[index - 1]?.[1] ?? null, term: 0, wallMs: WALL_MS + ms },
    ts: new Timestamp({ t: 0, i: index }),
  }));

export const inWords = (violations: Iterable<Violation>): string =>
  [...violations].map(({ invariant, what }) => `${invariant} ${what}`).join('\n');
