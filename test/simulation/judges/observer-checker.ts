import type { Lease } from '../../../src/protocol/lock-document.js';
import type { WorkerLine } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import { ELECTION } from '../../faults/workload/candidate.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { Evidence } from '../world/world.js';
import { msOf } from './operator-calls.js';
import type { When, WhenOf } from './server-time.js';
import { disturbances } from './spans.js';
import { overlaps } from '../../judge/overlap.js';
import type { Span } from '../../judge/overlap.js';
import { versionOf } from './parsed-versions.js';

/** One leader, or nobody (`token` is `null`), by the stored versions. */
interface Reign {
  readonly token: number | null;
  readonly candidateId: string | undefined;
  readonly from: When;
  until: When;
}

interface Observation {
  readonly worker: number;
  readonly promptMs: number;
  readonly fromMs: number;
  untilMs: number;
  readonly reports: { readonly atMs: number; readonly token: number | null; readonly candidateId?: string }[];
}

/** Some messages on their way, where nothing happens. */
const MESSAGES_MS = 50;

/** Without a change stream, observers read the leaders as often as this: the default of `pollMs.max`. */
const POLL_MS = 800;

/** How late an observer may name a leader where no fault happens. With a stream, it hears at once. */
const promptMsOf = (isPolling: boolean): number => MESSAGES_MS + (isPolling ? POLL_MS : 0);

/** R2: an observer names only leaders that were elected, in their order. L2: it names them in time where no fault happens. */
export function* checkObservers(
  evidence: Evidence,
  changes: readonly Change[],
  when: WhenOf,
): Iterable<Violation> {
  const { plan, history } = evidence;
  const { run, workers } = history;
  const faults = disturbances(run);
  const reigns = reignsIn(
    changes.filter(({ name }) => name === ELECTION),
    when,
  );
  const killed = new Set(run.flatMap((line) => (line.type === 'worker killed' ? [line.worker] : [])));
  const observations = workers.flatMap((lines, worker) =>
    observationsIn(lines, worker, promptMsOf(plan.processes[worker]?.isPolling === true)),
  );
  for (const observation of observations) {
    yield* namesLeaders(observation, reigns, faults);
    if (!killed.has(observation.worker)) yield* namesThemInTime(observation, reigns, faults);
  }
}

function observationsIn(
  lines: readonly WorkerLine[],
  worker: number,
  promptMs: number,
): readonly Observation[] {
  const observations = new Map<number, Observation>();
  for (const line of lines) {
    if (line.type === 'observing') {
      const open = { worker, promptMs, fromMs: msOf(line), untilMs: Infinity, reports: [] };
      observations.set(line.observation, open);
    } else if (line.type === 'observed') {
      const { token, candidateId } = line;
      const named = candidateId === undefined ? {} : { candidateId };
      observations.get(line.observation)?.reports.push({ atMs: msOf(line), token, ...named });
    } else if (line.type === 'observed no more') {
      const open = observations.get(line.observation);
      if (open !== undefined) open.untilMs = msOf(line);
    }
  }
  return [...observations.values()];
}

const NEVER: When = { earliestMs: Infinity, latestMs: Infinity };
const ALWAYS: When = { earliestMs: -Infinity, latestMs: -Infinity };

/** A leader leads until the update that ends its term, or until its lease is over. */
function reignsIn(changes: readonly Change[], when: WhenOf): readonly Reign[] {
  let last: Reign = { token: null, candidateId: undefined, from: ALWAYS, until: NEVER };
  const reigns = [last];
  const follow = (leader: Lease | undefined, at: When): void => {
    const { token = null, candidateId } = leader ?? {};
    if (last.token === token) return;
    last.until = at;
    last = { token, candidateId, from: at, until: NEVER };
    reigns.push(last);
  };
  let over = NEVER;
  for (const { after, wallMs } of changes) {
    const at = when(wallMs);
    if (over.earliestMs < at.latestMs) follow(undefined, over);
    const [leader] = versionOf(after).leases;
    follow(leader, at);
    over = leader === undefined ? NEVER : later(at, leader.expiresAt.getTime() - wallMs);
  }
  if (over !== NEVER) follow(undefined, over);
  return reigns;
}

const later = ({ earliestMs, latestMs }: When, byMs: number): When => ({
  earliestMs: earliestMs + byMs,
  latestMs: latestMs + byMs,
});

function* namesLeaders(
  { worker, promptMs, fromMs, reports }: Observation,
  reigns: readonly Reign[],
  faults: readonly Span[],
): Iterable<Violation> {
  let highest = 0;
  let nobodySinceMs: number | undefined;
  for (const { atMs, token, candidateId } of reports) {
    const shown = `worker ${worker} observes ${candidateId ?? 'nobody'} with token ${token ?? 0} at ${atMs.toFixed(1)} ms`;
    const its = reigns.filter((each) => each.token === token && each.candidateId === candidateId);
    const known = its.filter(({ from }) => from.earliestMs <= atMs);
    if (known.length === 0) yield violation('R2', `${shown}, and there was no such leader`);
    // A lease that is over by the clock of one primary may live by the clock of the next one.
    const isBack = token === highest && isDisturbedSince(faults, nobodySinceMs, atMs);
    if (token !== null && token <= highest && !isBack) {
      yield violation('R2', `${shown}, after token ${highest}`);
    }
    highest = Math.max(highest, token ?? 0);
    nobodySinceMs = token === null ? atMs : undefined;
    const sinceMs = Math.min(atMs, Math.max(fromMs, atMs - promptMs));
    const isOld = !known.some(({ until }) => sinceMs <= until.latestMs);
    if (isOld && known.length > 0 && !overlaps(faults, (atMs - promptMs) * 1e6, atMs * 1e6)) {
      yield violation('L2', `${shown}, whose term had ended long before`);
    }
  }
}

const isDisturbedSince = (faults: readonly Span[], fromMs: number | undefined, untilMs: number): boolean =>
  fromMs !== undefined && overlaps(faults, fromMs * 1e6, untilMs * 1e6);

function* namesThemInTime(
  { worker, promptMs, fromMs, untilMs, reports }: Observation,
  reigns: readonly Reign[],
  faults: readonly Span[],
): Iterable<Violation> {
  for (const { token, candidateId, from, until } of reigns) {
    const startMs = Math.max(fromMs, from.latestMs);
    const dueMs = startMs + promptMs;
    if (dueMs > Math.min(untilMs, until.earliestMs)) continue;
    if (overlaps(faults, startMs * 1e6, dueMs * 1e6)) continue;
    if (reports.findLast(({ atMs }) => atMs <= dueMs)?.token === token) continue;
    const who = candidateId ?? 'that nobody leads';
    const what = `worker ${worker} does not observe ${who} (token ${token ?? 0}) from ${startMs.toFixed(1)} until ${dueMs.toFixed(1)} ms`;
    yield violation('L2', what);
  }
}

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: 'observers' },
  what,
});
