import type { Violation } from '../../faults/verdict.js';
import { asksOf, named } from '../../judge/asks.js';
import type { Ask } from '../../judge/asks.js';
import { clockOf, inMs, nsOf } from '../../judge/run-clock.js';
import type { RunClock } from '../../judge/run-clock.js';
import { Standing } from '../../judge/standing.js';
import { overlaps } from '../../judge/overlap.js';
import { JOB } from '../world/job-runner.js';
import type { Evidence } from '../world/world.js';
import type { OperatorCall } from './operator-calls.js';
import { isHoldOf, mayBeOwnMark } from './operator-effects.js';
import type { Effect } from './operator-effects.js';
import { termsOfJob } from './job-terms.js';
import { disturbances } from './spans.js';

/** Some messages on their way, where nothing happens. */
const SLACK_MS = 100;

/** A document keeps the last revocations: so many later ones may have replaced a record before its process reads it. */
const MOST_RECORDS = 8;

/** What a holder may have heard, and from which calls. */
interface ToldBy {
  readonly evidence: Evidence;
  readonly effects: readonly Effect[];
  readonly calls: readonly OperatorCall[];
}

/** A hold that a revocation has met. */
interface Met {
  readonly asked: Ask;
  readonly effect: Effect;
}

/** A revocation where no fault happens, so that the holder has to hear of it until `boundNs`. */
export interface Hearing extends Met {
  readonly boundNs: number;
}

/**
 * L4: where no fault happens, a holder hears of its revocation at the latest by its next extension: of a polite one by
 * `releaseRequested`, and of an eviction by its loss. Both say who has revoked the hold, and why.
 */
export function* checkTold(
  hearings: readonly Hearing[],
  { evidence, effects, calls }: ToldBy,
): Iterable<Violation> {
  const clock = clockOf(evidence.history);
  for (const { asked, effect, boundNs } of hearings) {
    const boundMs = Number(clock.atNs(boundNs)) / 1e6;
    const mayBeReplaced = recordsSince(effect, effects, boundMs) >= MOST_RECORDS;
    const causes = calls.filter((call) => call.lock === effect.lock && call.fromMs <= boundMs);
    const isNamed = (says = ''): boolean => mayBeReplaced || causes.some((call) => names(says, call, asked));
    if (effect.does === 'ask') yield* isAskedInTime(asked, boundNs, isNamed);
    else yield* isLostInTime(asked, boundNs, mayBeReplaced, isNamed);
  }
}

/** Whether a holder that was asked to release has heard it where it had to. */
export const isHeardInTime = ({ asked: { requestedNs = Infinity }, effect, boundNs }: Hearing): boolean =>
  effect.does === 'ask' && requestedNs <= boundNs;

/** S2: nothing extends a lease that was evicted, so no holder counts on its hold for longer than that lease. */
export function* checkReliance(met: readonly Met[], { history, plan }: Evidence): Iterable<Violation> {
  const clock = clockOf(history);
  for (const { asked, effect } of met) {
    const { promisedNs } = asked;
    if (effect.does !== 'evict' || asked.lock === JOB) continue;
    const overNs = doneNsOf(effect, clock) + nsOf(plan.leaseMs);
    if (promisedNs <= overNs) continue;
    const what = `${named(asked)} counts on its hold until ${inMs(promisedNs)}, and its evicted lease was over at ${inMs(overNs)}`;
    yield { invariant: 'S2', checker: 'revocations', what };
  }
}

/** The revocations, each with every hold that it has met. */
export function metBy(effects: readonly Effect[], evidence: Evidence): readonly Met[] {
  const { history } = evidence;
  const clock = clockOf(history);
  const asks = [...asksOf(history, clock), ...termsOfJob(evidence, clock)];
  return effects
    .filter((effect) => !mayBeOwnMark(effect))
    .flatMap((effect) => asks.filter((asked) => isHoldOf(asked, effect)).map((asked) => ({ asked, effect })));
}

export function hearingsIn(met: readonly Met[], { history, plan }: Evidence): readonly Hearing[] {
  const clock = clockOf(history);
  const standing = new Standing(history, clock);
  const faults = disturbances(history.run);
  return met.flatMap(({ asked, effect }): readonly Hearing[] => {
    const { granted, worker } = asked;
    if (granted === undefined || standing.isKilled(worker)) return [];
    const doneNs = doneNsOf(effect, clock);
    const hearsNs = Math.max(doneNs + Math.ceil(nsOf(plan.leaseMs / 3)), granted.atNs);
    const boundNs = hearsNs + nsOf(SLACK_MS);
    const isDisturbed = overlaps(faults, Number(clock.atNs(doneNs)), Number(clock.atNs(boundNs)));
    return isDisturbed ? [] : [{ asked, effect, boundNs }];
  });
}

const doneNsOf = ({ when }: Effect, clock: RunClock): number =>
  clock.ns(String(Math.floor(when.latestMs * 1e6)));

/** Whether these words name the process of the operator and its reason. */
const names = (says: string, { process, why = '', id }: OperatorCall, { granted }: Ask): boolean =>
  (id === undefined || id === granted?.id) &&
  says.endsWith(`revoked by ${process} for ${JSON.stringify(why)}`);

/** Whether the holder has let go by then, or begun to. */
const endsBefore = ({ releasingNs = Infinity, promisedNs }: Ask, boundNs: number): boolean =>
  Math.min(releasingNs, promisedNs) <= boundNs;

type IsNamed = (says: string | undefined) => boolean;

function* isAskedInTime(asked: Ask, boundNs: number, isNamed: IsNamed): Iterable<Violation> {
  const { requestedNs = Infinity, lostNs = Infinity, requestedSays } = asked;
  if (requestedNs <= boundNs) {
    if (!isNamed(requestedSays))
      yield wrong(`${named(asked)} is asked to release, and hears: ${requestedSays ?? ''}`);
  } else if (lostNs > boundNs && !endsBefore(asked, boundNs)) {
    yield wrong(`${named(asked)} is asked to release, and does not hear of it until ${inMs(boundNs)}`);
  }
}

function* isLostInTime(
  asked: Ask,
  boundNs: number,
  mayBeReplaced: boolean,
  isNamed: IsNamed,
): Iterable<Violation> {
  const { lostNs = Infinity, lostWhy = '', lostSays } = asked;
  if (endsBefore(asked, boundNs)) return;
  if (lostNs > boundNs)
    yield wrong(`${named(asked)} is evicted, and does not hear of it until ${inMs(boundNs)}`);
  else if (lostWhy !== 'revoked' && !(mayBeReplaced && lostWhy === 'evicted'))
    yield wrong(`${named(asked)} is evicted, and hears that it is ${lostWhy}`);
  else if (!isNamed(lostSays)) yield wrong(`${named(asked)} is evicted, and hears: ${lostSays ?? ''}`);
}

/** How many updates have recorded a later revocation of this lock until then. */
function recordsSince({ lock, when }: Effect, effects: readonly Effect[], boundMs: number): number {
  const later = effects.filter(
    (other) =>
      other.lock === lock &&
      other.by !== undefined &&
      other.when.latestMs > when.latestMs &&
      other.when.earliestMs <= boundMs,
  );
  return new Set(later.map((other) => other.when)).size;
}

const wrong = (what: string): Violation => ({ invariant: 'L4', checker: 'revocations', what });
