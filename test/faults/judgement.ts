import type { Db } from 'mongodb';

import { checkBeliefs } from '../judge/belief-checker.js';
import { beyondBounds } from '../judge/beyond-bounds.js';
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
import { PassChecker } from '../judge/pass-checker.js';
import { slowTimesIn } from '../judge/slow-times.js';
import { StrictChecker } from '../judge/strict-checker.js';
import { checkSets } from '../judge/set-checker.js';
import type { SetResult, StoredSet } from '../judge/set-checker.js';
import type { History } from './history.js';
import { farClocks, majorityLost, stoppedPrimary } from './nemesis/member-faults.js';
import { lostDocuments } from './nemesis/store-faults.js';
import type { Violation } from './verdict.js';
import { SETS, TRANSACTED_SETS, STEADY_LOCK } from './workload/messages.js';
import type { StoredSet as FencedSet } from './workload/sets.js';

/** The result of a round. */
export interface Judgement {
  readonly violations: readonly Violation[];
  readonly versions: number;
  readonly grants: readonly Grant[];
  readonly requests: number;
  /** How many operations each group had that workers sent. */
  readonly groups: readonly number[];
  /** How often each fault happened, by number. */
  readonly faults: ReadonlyMap<number, number>;
  /** How many small effects the faults had that consist of many, by the name of the effect. */
  readonly effects: ReadonlyMap<string, number>;
  readonly killed: number;
  /**
   * The round was not judged strictly, because the machine was too busy: a primary was elected although no fault asks
   * for that, or the store was slow, or a worker starved, for too long.
   */
  readonly isDisturbed: boolean;
  /** How long the store was slow, of which a strict round is lenient. */
  readonly slowMs: number;
  /** The first grant by another primary after each end of a primary. */
  readonly failovers: readonly FirstGrant[];
  readonly sets: SetResult;
}

/** What the checkers judge. */
export interface Evidence {
  readonly history: History;
  readonly isStrict: boolean;
  readonly leaseMs: number;
  readonly oplog: Oplog;
  /** The database of the round, on the primary. */
  readonly db: Db;
  /** What is left when all processes have ended, and the leases of killed ones are over. */
  readonly remains: Pick<Remains, 'documents' | 'nowMs' | 'before' | 'after'>;
  /** The values of the sets in memory at the end, by lock. */
  readonly memory: ReadonlyMap<string, readonly string[]>;
}

/** The clocks of members differ as the faults set them. Everything else reads the clock of one machine. */
const TOLERANCE_MS = { same: 50, near: 250, far: 60_000 };

/** The bounds for the last end after all faults, for a timeout, and for a timer, on a busy machine. */
const LIVENESS = { boundMs: 90_000, slackMs: 5_000, lostSlackMs: 1_000 };

/**
 * A strict round is not judged strictly if the store was slow, or the machine starved a worker, for more than this share
 * of it. Then the calls of workers take longer than their bound, and each repeat adds to the load.
 */
const TOO_SLOW = 0.2;

/** How late a grant may be heard of in a strict round: far less than a third of a lease, when a waiter looks. */
const PROMPT_MS = 4_000;

export async function judge(evidence: Evidence): Promise<Judgement> {
  const { history, oplog, isStrict } = evidence;
  const clocks = clocksIn(history);
  const toleranceMs = TOLERANCE_MS[clocks];
  const aheadMs = Date.now() - Number(process.hrtime.bigint()) / 1e6;
  const losses = spansOf(history, lostDocuments.number, aheadMs);
  const mayVanish = losses.length > 0;
  const stops = [stoppedPrimary, majorityLost].flatMap(({ number }) => spansOf(history, number, aheadMs));
  const versions = new VersionJudge({
    toleranceMs,
    mayVanish: (wallMs, latestMs) => overlapsAny(losses, wallMs - toleranceMs, latestMs),
    mayStandStill: (wallMs) => overlapsAny(stops, wallMs - toleranceMs, wallMs + toleranceMs),
  });
  const strict = new StrictChecker();
  const passes = new PassChecker();
  await replay(oplog, (change) => {
    versions.take(change);
    strict.take(change);
    passes.take(change);
  });
  const { grants } = versions;
  const slowMs = slowTimesIn(history);
  const promptness = { aheadMs, promptMs: PROMPT_MS, slowMs };
  const elections = await electionsIn(oplog, history, aheadMs);
  // A machine that is too busy keeps the members from hearing of each other, or from answering in time. Then the store,
  // and not the library, makes grants late.
  const slowest = Math.max(
    slowMs(0, Infinity),
    ...history.workers.map((_, worker) => slowMs(0, Infinity, worker)),
  );
  const isTooSlow = slowest > TOO_SLOW * lengthMsOf(history);
  const isDisturbed = isStrict && (elections.size > 0 || isTooSlow);
  const isUndisturbed = isStrict && !isDisturbed;
  const isBeyondBounds = beyondBounds(history, evidence.leaseMs);
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
      // If a document was lost, other candidates may have been elected meanwhile.
      ...(mayVanish ? [] : checkHandOvers(history, grants)),
      ...(isUndisturbed ? strict.judge(history, grants, promptness) : []),
      ...(isUndisturbed ? passes.judge(history, grants, promptness) : []),
    ],
    versions: versions.versions,
    grants,
    requests: history.workers.flat().filter(({ type }) => type === 'asked').length,
    groups: history.workers.flat().flatMap((line) => (line.type === 'group' ? [line.operations] : [])),
    faults: faultsIn(history),
    effects: effectsIn(history),
    killed: history.run.filter(({ type }) => type === 'worker killed').length,
    isDisturbed,
    slowMs: slowMs(0, Infinity),
    failovers: firstGrants(history, grants, clocks === 'far' ? new Map() : elections),
    sets,
  };
}

/** Every set that a worker began to add to; empty if it has no values. */
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

/** How far the clocks of the members were apart. */
function clocksIn({ run }: History): keyof typeof TOLERANCE_MS {
  const jumps = run.flatMap((line) =>
    line.type === 'fault begins' && line.fault === farClocks.number ? [line] : [],
  );
  if (jumps.length === 0) return 'same';
  return jumps.some(({ excuses }) => excuses?.includes('exclusion')) ? 'far' : 'near';
}

/** The time from the first line of the run to the last one. */
function lengthMsOf({ run }: History): number {
  const [first, last] = [run[0], run.at(-1)];
  return first === undefined || last === undefined ? 0 : Number(BigInt(last.atNs) - BigInt(first.atNs)) / 1e6;
}

interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

const overlapsAny = (spans: readonly Span[], fromMs: number, untilMs: number): boolean =>
  spans.some((span) => span.fromMs <= untilMs && fromMs <= span.untilMs);

/** When the faults with this number lasted, in ms of the wall clock, which is ahead of the run's clock by `aheadMs`. */
function spansOf({ run }: History, number: number, aheadMs: number): readonly Span[] {
  const edges = run.filter((line) => 'fault' in line && line.fault === number);
  const wallMs = ({ atNs }: { readonly atNs: string }): number => Number(atNs) / 1e6 + aheadMs;
  return edges.flatMap((line, index) => {
    if (line.type !== 'fault begins') return [];
    const end = edges.slice(index + 1).find(({ type }) => type === 'fault ends');
    return [{ fromMs: wallMs(line), untilMs: end === undefined ? Infinity : wallMs(end) }];
  });
}

function faultsIn({ run }: History): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const line of run) {
    if (line.type === 'fault begins') counts.set(line.fault, (counts.get(line.fault) ?? 0) + 1);
  }
  return counts;
}

/** The sums of the effects, by the name of the fault when it began. */
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
