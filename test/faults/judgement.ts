import type { Db } from 'mongodb';

import { checkBeliefs } from '../judge/belief-checker.js';
import { checkLeaks } from '../judge/leak-checker.js';
import type { Remains } from '../judge/leak-checker.js';
import { electionsIn } from '../judge/elections.js';
import { checkHandOvers } from '../judge/hand-over-checker.js';
import { firstGrants } from '../judge/first-grants.js';
import type { FirstGrant } from '../judge/first-grants.js';
import { checkLiveness } from '../judge/liveness-checker.js';
import { checkGranted, VersionJudge } from '../judge/oplog-checker.js';
import type { Grant } from '../judge/oplog-checker.js';
import { replay } from '../judge/oplog-replay.js';
import type { Oplog } from '../judge/oplog-replay.js';
import { checkSteadyLease } from '../judge/steady-lease-checker.js';
import { StrictChecker } from '../judge/strict-checker.js';
import { checkSets } from '../judge/set-checker.js';
import type { SetResult, StoredSet } from '../judge/set-checker.js';
import type { History } from './history.js';
import { farClocks } from './nemesis/member-faults.js';
import { lostDocuments } from './nemesis/store-faults.js';
import type { Violation } from './verdict.js';
import { SETS, TRANSACTED_SETS, STEADY_LOCK } from './workload/messages.js';
import type { StoredSet as FencedSet } from './workload/sets.js';

/** What a round has come to. */
export interface Judgement {
  readonly violations: readonly Violation[];
  readonly versions: number;
  readonly grants: readonly Grant[];
  readonly requests: number;
  /** How often each fault happened, by number. */
  readonly faults: ReadonlyMap<number, number>;
  /** How much came of faults that are made of many small ones, by what that is. */
  readonly effects: ReadonlyMap<string, number>;
  readonly killed: number;
  /** After each end of a primary, the first grant by another. */
  readonly failovers: readonly FirstGrant[];
  readonly sets: SetResult;
}

/** What there is to judge. */
export interface Evidence {
  readonly history: History;
  readonly isStrict: boolean;
  readonly leaseMs: number;
  readonly oplog: Oplog;
  /** The database of the round, on the primary. */
  readonly db: Db;
  /** What is left when everybody has ended, and the leases of those who were killed are over. */
  readonly remains: Pick<Remains, 'documents' | 'nowMs' | 'before' | 'after'>;
  /** What the sets in memory hold in the end, by lock. */
  readonly memory: ReadonlyMap<string, readonly string[]>;
}

/** Clocks of members differ by what the faults set them to; everything else reads the clock of one machine. */
const TOLERANCE_MS = { same: 50, near: 250, far: 60_000 };

/** The last of all after the end of all faults, a timeout, and a timer, on a machine that is busy. */
const LIVENESS = { boundMs: 90_000, slackMs: 5_000, lostSlackMs: 1_000 };

/** How late news may be in a strict round: far below the third of a lease in which a waiter looks by itself. */
const PROMPT_MS = 4_000;

export async function judge(evidence: Evidence): Promise<Judgement> {
  const { history, oplog, isStrict } = evidence;
  const clocks = clocksIn(history);
  const mayVanish = history.run.some(
    (line) => line.type === 'fault begins' && line.fault === lostDocuments.number,
  );
  const versions = new VersionJudge({ toleranceMs: TOLERANCE_MS[clocks], mayVanish });
  const strict = new StrictChecker();
  await replay(oplog, (change) => {
    versions.take(change);
    strict.take(change);
  });
  const { grants } = versions;
  const aheadMs = Date.now() - Number(process.hrtime.bigint()) / 1e6;
  const isBeyondBounds = beyondBounds(evidence);
  const sets = checkSets(history, await finalSets(evidence), isBeyondBounds);
  return {
    violations: [
      ...versions.violations,
      ...checkGranted(history, grants),
      ...checkBeliefs(history, isBeyondBounds),
      ...sets.violations,
      ...checkLiveness(history, LIVENESS, isBeyondBounds),
      ...checkLeaks({ history, baseline: {}, ...evidence.remains }),
      ...checkSteadyLease(history, STEADY_LOCK),
      // Of a document that was lost, others may have been elected meanwhile.
      ...(mayVanish ? [] : checkHandOvers(history, grants)),
      ...(isStrict ? strict.judge(history, grants, { aheadMs, promptMs: PROMPT_MS }) : []),
    ],
    versions: versions.versions,
    grants,
    requests: history.workers.flat().filter(({ type }) => type === 'asked').length,
    faults: faultsIn(history),
    effects: effectsIn(history),
    killed: history.run.filter(({ type }) => type === 'worker killed').length,
    failovers: firstGrants(
      history,
      grants,
      clocks === 'far' ? new Map() : await electionsIn(oplog, history, aheadMs),
    ),
    sets,
  };
}

/** Every set that anybody began to add to; empty where nothing came of it. */
async function finalSets({ db, memory, history }: Evidence): Promise<readonly StoredSet[]> {
  const [fenced, transacted] = [await setsIn(db, SETS), await setsIn(db, TRANSACTED_SETS)];
  const locks = new Set(
    history.workers.flat().flatMap((line) => (line.type === 'adding' ? [line.lock] : [])),
  );
  return [...locks].flatMap((lock) => [
    { set: 'memory', lock, values: memory.get(lock) ?? [] } as const,
    { set: 'fenced', lock, values: fenced.get(lock) ?? [] } as const,
    { set: 'transaction', lock, values: transacted.get(lock) ?? [] } as const,
  ]);
}

async function setsIn(db: Db, collection: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const sets = await db.collection<FencedSet>(collection).find().toArray();
  return new Map(sets.map(({ _id, values = [] }) => [_id, values]));
}

/** From the beginning of an excused fault until every lease that it may have touched is over. */
function beyondBounds({ history, leaseMs }: Evidence): (lock: string, fromNs: bigint) => boolean {
  const spans = history.run.flatMap((line) => {
    if (line.type !== 'fault begins' || line.excuses?.includes('exclusion') !== true) return [];
    const end = history.run.find(
      (other) =>
        other.type === 'fault ends' && other.fault === line.fault && BigInt(other.atNs) > BigInt(line.atNs),
    );
    const untilNs = BigInt(end?.atNs ?? line.atNs) + BigInt(2 * leaseMs) * 1_000_000n;
    return [{ fromNs: BigInt(line.atNs), untilNs }];
  });
  return (_lock, fromNs) => spans.some((span) => span.fromNs <= fromNs && fromNs <= span.untilNs);
}

/** How far the clocks of the members were apart. */
function clocksIn({ run }: History): keyof typeof TOLERANCE_MS {
  const jumps = run.flatMap((line) =>
    line.type === 'fault begins' && line.fault === farClocks.number ? [line] : [],
  );
  if (jumps.length === 0) return 'same';
  return jumps.some(({ excuses }) => excuses?.includes('exclusion')) ? 'far' : 'near';
}

function faultsIn({ run }: History): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const line of run) {
    if (line.type === 'fault begins') counts.set(line.fault, (counts.get(line.fault) ?? 0) + 1);
  }
  return counts;
}

/** By what each of these faults was called when it began. */
function effectsIn({ run }: History): ReadonlyMap<string, number> {
  const totals = new Map<string, number>();
  const begun = new Map<number, string>();
  for (const line of run) {
    if (line.type === 'fault begins') begun.set(line.fault, line.what);
    if (line.type !== 'fault ends' || line.effects === undefined) continue;
    const what = `${String(line.fault)}: ${begun.get(line.fault) ?? line.what}`;
    totals.set(what, (totals.get(what) ?? 0) + line.effects);
  }
  return totals;
}
