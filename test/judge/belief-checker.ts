import type { History } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';
import { asksOf, named } from './asks.js';
import type { Ask } from './asks.js';
import { beliefsOf } from './beliefs.js';
import type { Belief } from './beliefs.js';
import { EXCLUDED_BY, byLock, conflictsIn, edgesOf, shareOf } from './conflicts.js';
import { clockOf, inMs } from './run-clock.js';

/** Whether the clocks differed by more than holds allow for, at any time between the two. */
export type IsBeyondBounds = (lock: string, fromNs: bigint, untilNs: bigint) => boolean;

/** In how many independent stores this token of this lock was given. Only a quorum has more than one. */
type TimesGiven = (lock: string, token: number) => number;

const CHECKER = 'beliefs';

/** S2: no two conflicting beliefs overlap. S3: the later of two conflicting beliefs has the higher token. */
export function checkBeliefs(
  history: History,
  isBeyondBounds: IsBeyondBounds = () => false,
  timesGiven: TimesGiven = () => 1,
): readonly Violation[] {
  const clock = clockOf(history);
  const asks = asksOf(history, clock);
  const beliefs = asks.flatMap((asked) => beliefsOf(asked));
  const conflicts = conflictsIn(beliefs).filter(({ earlier, later }) => {
    const untilNs = Math.min(earlier.untilNs, later.untilNs);
    return !isBeyondBounds(later.lock, clock.atNs(later.fromNs), clock.atNs(untilNs));
  });
  const others = [...byLock(beliefs)].flatMap((ofLock) => [
    ...oneTokenTwice(ofLock, timesGiven),
    ...fallingTokens(ofLock, ({ lock, fromNs }) => {
      const atNs = clock.atNs(fromNs);
      return isBeyondBounds(lock, atNs, atNs);
    }),
  ]);
  // One conflict of each later belief is enough to report.
  const firsts = new Map([...conflicts].reverse().map((conflict) => [conflict.later, conflict]));
  return [
    ...[...firsts.values()].map(({ earlier, later }) => violation('S2', earlier, 'while', later)),
    ...others,
    ...asks.flatMap((asked) => [...heldAgain(asked)]),
  ];
}

/** A hold whose last promise is over is over for good, whatever the store says later. */
function* heldAgain(asked: Ask): Iterable<Violation> {
  const { promisedNs, notHeldNs = 0, revivedNs } = asked;
  if (revivedNs === undefined) return;
  const what = `${named(asked)} is held again at ${inMs(revivedNs)}, until ${inMs(promisedNs)}, though it was over at ${inMs(notHeldNs)}`;
  yield { invariant: 'S2', checker: CHECKER, what };
}

/**
 * A token belongs to one hold only, or to the readers of one process that share one lease. Holds of a quorum that do not
 * exclude each other may have equal tokens, if as many different deployments have given that token.
 */
function* oneTokenTwice(beliefs: readonly Belief[], timesGiven: TimesGiven): Iterable<Violation> {
  const holders = new Map<number, Belief[]>();
  for (const belief of beliefs) {
    const { lock, token } = belief;
    const others = holders.get(token) ?? [];
    if (others.some((other) => other.of === belief.of || isShared(other, belief))) continue;
    const excluded = others.find((other) => excludeEachOther(other, belief));
    const other = excluded ?? (others.length < timesGiven(lock, token) ? undefined : others[0]);
    if (other !== undefined) yield violation('S3', other, 'has the token of', belief);
    holders.set(token, [...others, belief]);
  }
}

const excludeEachOther = (one: Belief, other: Belief): boolean =>
  EXCLUDED_BY[shareOf(one.seat)].includes(shareOf(other.seat));

const isShared = (one: Belief, other: Belief): boolean =>
  [one, other].every(({ seat }) => shareOf(seat) === 'read') &&
  one.of.worker === other.of.worker &&
  one.of.granted?.id === other.of.granted?.id;

/**
 * A belief that begins after a conflicting one has ended has the higher token. It is excused if the document was lost
 * before the worker heard of its grant: then others were granted meanwhile.
 */
function* fallingTokens(
  beliefs: readonly Belief[],
  isExcused: (belief: Belief) => boolean,
): Iterable<Violation> {
  const highest = new Map<string, Belief>();
  for (const { is, reliance } of edgesOf(beliefs)) {
    const share = shareOf(reliance.seat);
    if (is === 'end') {
      if (reliance.token > (highest.get(share)?.token ?? 0)) highest.set(share, reliance);
      continue;
    }
    for (const other of EXCLUDED_BY[share]) {
      const before = highest.get(other);
      const isOlder = before !== undefined && before.of !== reliance.of && before.token >= reliance.token;
      if (isOlder && !isExcused(reliance)) {
        yield violation('S3', before, 'is followed by', reliance);
      }
    }
  }
}

const violation = (invariant: 'S2' | 'S3', one: Belief, words: string, other: Belief): Violation => ({
  ...{ invariant, checker: CHECKER },
  what: `${shown(one)} ${words} ${shown(other)}`,
});

/** Short, because reports of failures are cut: what one has to know of both beliefs comes early. */
const shown = ({ of, seat, token, fromNs, untilNs }: Belief): string =>
  `${named(of)} (${Object.values(seat).join(' ')}, token ${token}, ${inMs(fromNs)} to ${inMs(untilNs)})`;
