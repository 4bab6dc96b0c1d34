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

/** A call for a run that was not answered by a claim. */
export interface JobTrouble {
  readonly worker: number;
  readonly code: string;
}

const CHECKER = 'jobs';

/** What was said of one job. */
export interface JobHistory {
  readonly runs: readonly JobRun[];
  readonly missed: readonly Missed[];
  readonly calls: number;
  /** The time between two instants of the job. */
  readonly everyMs: number;
}

/** S1: no more runs are out of turn than were called for. */
export function* checkCalls({ runs, calls, everyMs }: JobHistory): Iterable<Violation> {
  // The first claim may answer a call, so any grid may be the one of the schedule: that of most runs.
  const phases = new Map<number, number>();
  for (const { firedAtMs } of runs) {
    const phase = firedAtMs % everyMs;
    phases.set(phase, (phases.get(phase) ?? 0) + 1);
  }
  const [[phase] = [0]] = [...phases].toSorted(([, a], [, b]) => b - a);
  const outOfTurn = runs.filter(({ firedAtMs }) => firedAtMs % everyMs !== phase);
  if (outOfTurn.length > calls) {
    const [run] = outOfTurn;
    if (run !== undefined)
      yield violation('S1', run, `${outOfTurn.length} runs are out of turn, of ${calls} calls`);
  }
}

/** S1: no instant has two runs. S2: no two runs overlap while their terms are promised. S3: terms follow by token. */
export function* checkJobs(runs: readonly JobRun[]): Iterable<Violation> {
  const byInstant = new Map<number, JobRun>();
  const inOrder = runs.toSorted((a, b) => a.fromMs - b.fromMs);
  for (const run of inOrder) {
    const first = byInstant.get(run.firedAtMs);
    if (first === undefined) byInstant.set(run.firedAtMs, run);
    else yield violation('S1', run, `runs for an instant that worker ${first.worker} has run for already`);
  }
  for (const [index, run] of inOrder.entries()) {
    const before = inOrder.slice(Math.max(0, index - OVERLAPPING), index);
    for (const other of before) {
      if (endOf(other) > run.fromMs) {
        yield violation('S2', run, `begins while the run of worker ${other.worker} goes on`);
      }
      if (other.token > run.token) {
        yield violation('S3', run, `comes after worker ${other.worker} with token ${other.token}`);
      }
    }
  }
}

/** So many runs before one are compared with it: no run lasts longer than these. */
const OVERLAPPING = 10;

const endOf = ({ untilMs, promisedMs = untilMs }: JobRun): number => Math.min(untilMs, promisedMs);

const violation = (
  invariant: Violation['invariant'],
  { worker, token, fromMs, firedAtMs }: JobRun,
  what: string,
): Violation => ({
  ...{ invariant, checker: CHECKER },
  what: `job of worker ${worker}, token ${token}, at ${fromMs.toFixed(1)} ms for ${firedAtMs}: ${what}`,
});
