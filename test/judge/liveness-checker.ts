import type { History } from '../faults/history.js';
import type { Invariant, Violation } from '../faults/verdict.js';
import { asksOf, named } from './asks.js';
import type { Ask } from './asks.js';
import type { IsBeyondBounds } from './belief-checker.js';
import { beliefsOf, endOf } from './beliefs.js';
import { conflictsIn } from './conflicts.js';
import { LIMIT_MISMATCH, limitsExceeded } from './limit-refusals.js';
import type { ExceedsLimit } from './limit-refusals.js';
import { clockOf, inMs, nsOf } from './run-clock.js';
import type { RunClock } from './run-clock.js';
import { Standing } from './standing.js';

export interface LivenessBounds {
  /** How long after the healing and the end of new requests the last request and the last hold may end. */
  readonly boundMs: number;
  /** By how much a busy machine, or a disturbed store, may be late with the end of a timed request. */
  readonly slackMs: number | ((askedNs: number, answeredNs: number) => number);
  /** By how much it may be late with the report of a loss. */
  readonly lostSlackMs: number;
}

const CHECKER = 'liveness';

const violation = (invariant: Invariant, what: string): Violation => ({ invariant, checker: CHECKER, what });

/** L1: each request and hold ends in time. L4: a loss is reported before the next grant. R2: no request ends wrongly. */
export function checkLiveness(
  history: History,
  bounds: LivenessBounds,
  isBeyondBounds: IsBeyondBounds = () => false,
): readonly Violation[] {
  const clock = clockOf(history);
  const asks = asksOf(history, clock);
  const standing = new Standing(history, clock);
  const exceedsLimit = limitsExceeded(history, asks, clock);
  const run: Run = { bounds, standing, clock, isBeyondBounds, endNs: endIn(history, bounds, clock) };
  return [
    ...asks.flatMap((asked) => [
      ...everythingEnds(asked, run),
      ...timesOut(asked, run),
      ...isRefusedRightly(asked, exceedsLimit),
      ...isToldInTime(asked, run),
    ]),
    ...isToldBeforeOthersEnter(asks, run),
    ...wrongChangesIn(history),
    ...complaintsIn(history, clock),
  ];
}

interface Run {
  readonly bounds: LivenessBounds;
  readonly standing: Standing;
  readonly clock: RunClock;
  readonly isBeyondBounds: IsBeyondBounds;
  /** When everything must be over. */
  readonly endNs: number;
}

/** Infinity where the run was never healed, or never stopped. */
function endIn({ run }: History, { boundMs }: LivenessBounds, clock: RunClock): number {
  const lastOf = (type: 'healed' | 'stopping'): number => {
    const line = run.findLast((one) => one.type === type);
    return line === undefined ? Infinity : clock.ns(line.atNs);
  };
  return Math.max(lastOf('healed'), lastOf('stopping')) + nsOf(boundMs);
}

function* everythingEnds(asked: Ask, { standing, endNs }: Run): Iterable<Violation> {
  const { worker, granted, notGranted, releasedNs, lostNs } = asked;
  if (granted !== undefined && notGranted?.isKnown === true) {
    yield violation('R2', `${named(asked)} is granted and known not to be`);
  }
  const answeredNs = Math.min(granted?.atNs ?? Infinity, notGranted?.atNs ?? Infinity);
  const isAnswered = answeredNs < Infinity;
  const overNs = granted === undefined ? answeredNs : Math.min(releasedNs ?? Infinity, lostNs ?? Infinity);
  if (standing.isKilled(worker) && overNs === Infinity) return;
  if (!isAnswered) yield violation('L1', `${named(asked)} of ${inMs(asked.askedNs)} never ends`);
  else if (overNs === Infinity) yield violation('L1', `${named(asked)} is granted and never given back`);
  else if (overNs > endNs)
    yield violation('L1', `${named(asked)} ends at ${inMs(overNs)}, after ${inMs(endNs)}`);
}

function* timesOut(asked: Ask, { bounds, standing, clock }: Run): Iterable<Violation> {
  const { worker, askedNs, timeoutMs, granted, notGranted } = asked;
  const answeredNs = granted?.atNs ?? notGranted?.atNs;
  if (timeoutMs === null || answeredNs === undefined) return;
  const dueNs = askedNs + nsOf(timeoutMs);
  const lateNs = answeredNs - dueNs - standing.starvedNs(worker, dueNs, answeredNs);
  const { slackMs } = bounds;
  const allowedMs =
    typeof slackMs === 'number'
      ? slackMs
      : slackMs(Number(clock.atNs(askedNs)), Number(clock.atNs(answeredNs)));
  if (lateNs <= nsOf(allowedMs) || standing.stood(worker, askedNs, answeredNs)) return;
  yield violation('L1', `${named(asked)} with ${timeoutMs} ms of time is answered ${inMs(lateNs)} too late`);
}

/** Timers may fire a hair early. */
const EARLY_MS = 50;

/** The codes with which a try, a timed request and an unbounded one may fail. */
const REFUSALS = {
  try: ['BUSY', 'STORE_UNAVAILABLE', 'QUORUM'],
  timed: ['ACQUIRE_TIMEOUT', 'ABORTED', 'QUORUM'],
  unbounded: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A timed request fails with these only when its time is over: no deployment refuses for good here. */
const USES_ITS_TIME: readonly string[] = ['ACQUIRE_TIMEOUT', 'QUORUM'];

function* isRefusedRightly(asked: Ask, exceedsLimit: ExceedsLimit): Iterable<Violation> {
  const { askedNs, timeoutMs, notGranted } = asked;
  if (notGranted === undefined) return;
  const { atNs, code } = notGranted;
  const kind = timeoutMs === null ? 'unbounded' : timeoutMs === 0 ? 'try' : 'timed';
  const codes: readonly string[] = REFUSALS[kind];
  if (code === LIMIT_MISMATCH && exceedsLimit(asked)) return;
  if (!codes.includes(code)) yield violation('R2', `${named(asked)}, ${kind}, is refused by ${code}`);
  else if (USES_ITS_TIME.includes(code) && atNs - askedNs < nsOf((timeoutMs ?? 0) - EARLY_MS)) {
    yield violation(
      'L1',
      `${named(asked)} with ${timeoutMs} ms of time fails with ${code} after ${inMs(atNs - askedNs)}`,
    );
  }
}

/** The codes with which a change of mode may fail. */
const NOT_CHANGED: readonly string[] = [
  'BUSY',
  'ACQUIRE_TIMEOUT',
  'ABORTED',
  'LOCK_LOST',
  'STORE_UNAVAILABLE',
  'QUORUM',
];

function* wrongChangesIn({ workers }: History): Iterable<Violation> {
  for (const [worker, lines] of workers.entries()) {
    for (const line of lines) {
      if (line.type !== 'not changed' || NOT_CHANGED.includes(line.code)) continue;
      yield violation(
        'R2',
        `worker ${worker}, ask ${line.ask}: the change to ${line.to} is refused by ${line.code}`,
      );
    }
  }
}

function* isToldInTime(asked: Ask, { bounds, standing }: Run): Iterable<Violation> {
  const { worker, granted, promisedNs, lostNs, openNs = 0, notHeldNs = 0, isLostUnseen } = asked;
  // A hold that was granted in doubt and never confirmed could not be relied on.
  if (granted !== undefined && promisedNs - granted.atNs < nsOf(1)) return;
  // A look after the end of the promise has to report the loss. A look before that finds the hold in doubt.
  if (lostNs === undefined && promisedNs > 0 && notHeldNs > promisedNs) {
    yield violation('L4', `${named(asked)} is over at ${inMs(notHeldNs)}, and its loss is never told`);
  }
  if (lostNs === undefined || isLostUnseen === true || standing.stood(worker, promisedNs, lostNs)) return;
  // An answer moves the deadline of a hold in doubt, too, and no promise shows that.
  const dueNs = Math.max(promisedNs, openNs);
  if (lostNs - standing.starvedNs(worker, dueNs, lostNs) <= dueNs + nsOf(bounds.lostSlackMs)) return;
  const due = `${openNs > promisedNs ? 'open at' : 'promised until'} ${inMs(dueNs)}`;
  yield violation('L4', `${named(asked)} is told its loss at ${inMs(lostNs)}, ${due}`);
}

/** A hold is relied on until its loss is reported, so it conflicts with a grant between its promise and the report. */
function* isToldBeforeOthersEnter(
  asks: readonly Ask[],
  { standing, clock, isBeyondBounds }: Run,
): Iterable<Violation> {
  const beliefs = asks.flatMap((asked) => {
    const { worker, promisedNs, releasingNs = Infinity, lostNs = 0, evictedNs = Infinity } = asked;
    const couldTell = lostNs > promisedNs && !standing.stood(worker, promisedNs, lostNs);
    return beliefsOf(asked, couldTell ? Math.min(lostNs, releasingNs, evictedNs) : endOf(asked));
  });
  for (const { earlier, later } of conflictsIn(beliefs)) {
    const { of: lost } = earlier;
    // The belief checker judges conflicts before the end of the promise.
    if (later.fromNs < lost.promisedNs || later.of.worker === lost.worker) continue;
    if (isBeyondBounds(later.lock, clock.atNs(later.fromNs), clock.atNs(earlier.untilNs))) continue;
    if (wasStarved(lost, later.fromNs, earlier.untilNs, standing)) continue;
    yield violation(
      'L4',
      `${named(lost)}, token ${earlier.token}, is told its loss at ${inMs(earlier.untilNs)}, after ${named(later.of)} came in with token ${later.token} at ${inMs(later.fromNs)}`,
    );
  }
}

/** A timer may be late by this much on a machine that starves its process before or after. */
const LATE_TIMER_MS = 100;

/** Whether the machine left the worker no time to report the loss between the end of its promise and the next grant. */
function wasStarved(
  { worker, promisedNs }: Ask,
  grantedNs: number,
  lostNs: number,
  standing: Standing,
): boolean {
  const ranNs = grantedNs - promisedNs - standing.starvedNs(worker, promisedNs, grantedNs);
  return ranNs <= nsOf(LATE_TIMER_MS) && standing.starvedNs(worker, promisedNs, lostNs) > 0;
}

function complaintsIn({ workers }: History, clock: RunClock): readonly Violation[] {
  return workers.flatMap((lines, worker) =>
    lines.flatMap((line) =>
      line.type === 'complaint'
        ? [violation('R2', `worker ${worker} at ${inMs(clock.ns(line.atNs))}: ${line.what}`)]
        : [],
    ),
  );
}
