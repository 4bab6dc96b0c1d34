import type { Eviction } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';

/** One run of the job in one process. Times are in ms of virtual time. */
export interface JobRun {
  readonly worker: number;
  readonly firedAtMs: number;
  /** The token of the term. */
  readonly token: number;
  readonly fromMs: number;
  /** When the run has ended, or heard that it must end. */
  untilMs: number;
  /** Until when the term was promised, as the run said last. */
  promisedMs?: number;
}

/** Instants that a process has reported as missed. */
export interface Missed {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly why: string;
}

/** One `runNow`. */
export interface CallForRun {
  readonly worker: number;
  readonly fromMs: number;
  /** Absent if its process crashed before. `code`: of the error. */
  answer?: { readonly atMs: number; readonly code?: string };
}

/** What a leader of the job hears of its term, from the first run of the term on. */
export interface TermOfJob {
  readonly worker: number;
  readonly id: string;
  readonly token: number;
  readonly fromMs: number;
  /** The term was asked to end. */
  requested?: { readonly atMs: number; readonly says: string };
  /** Its signal aborted; `why` is `released` if the leader ends it. */
  ended?: { readonly atMs: number; readonly why: string; readonly says: string };
}

const CHECKER = 'jobs';

/** What was said of one job. */
export interface JobHistory {
  readonly runs: readonly JobRun[];
  readonly missed: readonly Missed[];
  readonly calls: readonly CallForRun[];
  readonly terms: readonly TermOfJob[];
  /** As in `JobNotes`. */
  readonly everyMs: number;
  readonly schedule: JobSchedule;
}

export type JobSchedule = 'fixed-rate' | 'fixed-delay' | 'cron';

/** What is known of the terms beside their runs. */
interface Terms {
  readonly terms: readonly TermOfJob[];
  /** Those of the election of the job. */
  readonly evictions: readonly Eviction[];
  /** So long after its eviction, a term is over for the process that has not heard of that. */
  readonly restMs: number;
}

/** What is excused where the document of the job was lost, or an old copy of it restored. */
interface Losses {
  /** Whether so soon after a loss another process may be at work. */
  readonly isBeyondBounds?: (atMs: number) => boolean;
  /** How many different claims of each instant were stored: an old copy does not have those that came after it. */
  readonly claims?: ReadonlyMap<number, number>;
}

/**
 * S1: no instant has two runs. S2: no two runs overlap while their terms are promised. S3: terms follow by token. After
 * the eviction of its term, a run is protected by its token alone, until the process hears of it or its lease is over.
 */
export function* checkJobs(
  runs: readonly JobRun[],
  known: Terms,
  { isBeyondBounds = () => false, claims }: Losses = {},
): Iterable<Violation> {
  const byInstant = new Map<number, readonly JobRun[]>();
  const inOrder = runs.toSorted((a, b) => a.fromMs - b.fromMs);
  for (const run of inOrder) {
    const earlier = byInstant.get(run.firedAtMs) ?? [];
    const [first] = earlier;
    byInstant.set(run.firedAtMs, [...earlier, run]);
    if (first !== undefined && earlier.length >= (claims?.get(run.firedAtMs) ?? 1))
      yield violation('S1', run, `runs for an instant that worker ${first.worker} has run for already`);
    const { overMs } = evictionOf(run, known);
    if (endOf(run) > overMs && !isBeyondBounds(overMs)) {
      const over = `whose evicted lease was over at ${overMs.toFixed(1)} ms`;
      yield violation('S2', run, `counts on its term, ${over}`);
    }
  }
  for (const [index, run] of inOrder.entries()) {
    if (isBeyondBounds(run.fromMs)) continue;
    const before = inOrder.slice(Math.max(0, index - OVERLAPPING), index);
    const own = evictionOf(run, known);
    const isEvicted = own.fromMs <= run.fromMs && run.fromMs <= Math.min(own.heardMs, own.overMs);
    for (const other of before) {
      if (Math.min(endOf(other), evictionOf(other, known).fromMs) > run.fromMs) {
        yield violation('S2', run, `begins while the run of worker ${other.worker} goes on`);
      }
      if (other.token > run.token && !isEvicted) {
        yield violation('S3', run, `comes after worker ${other.worker} with token ${other.token}`);
      }
    }
  }
}

/** So many runs before one are compared with it: no run lasts longer than these. */
const OVERLAPPING = 10;

interface EvictionOfTerm {
  readonly fromMs: number;
  readonly heardMs: number;
  readonly overMs: number;
}

function evictionOf({ token, worker }: JobRun, { evictions, terms, restMs }: Terms): EvictionOfTerm {
  const eviction = evictions.find(({ firstToken }) => firstToken === token);
  if (eviction === undefined) return { fromMs: Infinity, heardMs: Infinity, overMs: Infinity };
  const fromMs = Number(eviction.atNs) / 1e6;
  const { ended } = terms.find((term) => term.token === token && term.worker === worker) ?? {};
  const isHeard = ended !== undefined && ended.why !== 'released';
  return { fromMs, heardMs: isHeard ? ended.atMs : Infinity, overMs: fromMs + restMs };
}

const endOf = ({ untilMs, promisedMs = untilMs }: JobRun): number => Math.min(untilMs, promisedMs);

const violation = (
  invariant: Violation['invariant'],
  { worker, token, fromMs, firedAtMs }: JobRun,
  what: string,
): Violation => ({
  ...{ invariant, checker: CHECKER },
  what: `job of worker ${worker}, token ${token}, at ${fromMs.toFixed(1)} ms for ${firedAtMs}: ${what}`,
});
