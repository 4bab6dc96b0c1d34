import type { Attempt } from './crontab.js';

/** The exit code of an attempt whose command has run. */
export const RAN = 0;

/** The exit code of an attempt that has found the lock busy, by `-E`. */
export const REFUSED = 3;

/** One run of the command. */
export interface Run {
  readonly instant: number;
  /** When its lock was acquired, by the clock of the store; `undefined`: not seen, as of a hold that ended too early. */
  readonly acquiredMs: number | undefined;
  /** When the command ran at the latest, by the clock of its machine. */
  readonly ranMs: number;
}

/** `not judged`: the bounds of the promise were exceeded, so that it promises nothing. */
export type Verdict = 'kept' | 'broken' | 'not judged';

export interface Judgement {
  readonly instant: number;
  readonly runs: number;
  readonly atMostOnce: Verdict;
  readonly atLeastOnce: Verdict;
}

export interface Times {
  /** The time of `--hold-at-least`. */
  readonly holdMs: number;
  readonly leaseMs: number;
}

/** Judges each instant at which an attempt was made. */
export function judge(
  attempts: readonly Attempt[],
  runs: readonly Run[],
  times: Times,
): readonly Judgement[] {
  const instants = [...new Set(attempts.map(({ instant }) => instant))].sort((x, y) => x - y);
  return instants.map((instant) => {
    const ofInstant = attempts.filter((each) => each.instant === instant);
    const runsOfInstant = runs.filter((each) => each.instant === instant);
    const [before, after] = [
      attempts.filter((each) => each.instant < instant),
      attempts.filter((each) => each.instant > instant),
    ];
    const isTried = isTriedOnFreeLock(ofInstant, before, after, times);
    return {
      instant,
      runs: runsOfInstant.length,
      atMostOnce: atMostOnce(ofInstant, runsOfInstant, times),
      atLeastOnce: !isTried ? 'not judged' : runsOfInstant.length > 0 ? 'kept' : 'broken',
    };
  });
}

/** The bound: every attempt is decided within `--hold-at-least` of the first acquisition. */
function atMostOnce(attempts: readonly Attempt[], runs: readonly Run[], { holdMs }: Times): Verdict {
  const [first, second] = [...runs].sort((x, y) => x.ranMs - y.ranMs);
  // A hold that was lost ends early, as the manual says.
  const isWhole = attempts.every(({ code }) => isAnswer(code) || code === 69);
  if (!isWhole || first === undefined) return 'not judged';
  // Without the time of the store, the first acquisition was not before the first attempt.
  const begunMs = Math.min(...attempts.map(({ startedMs }) => startedMs));
  if (second !== undefined) {
    const areSeen = first.acquiredMs !== undefined && second.acquiredMs !== undefined;
    const [firstMs, secondMs] = areSeen ? [first.acquiredMs, second.acquiredMs] : [begunMs, second.ranMs];
    return secondMs < firstMs + holdMs ? 'broken' : 'not judged';
  }
  const untilMs = (first.acquiredMs ?? begunMs) + holdMs;
  return attempts.every(({ code, endedMs }) => code !== REFUSED || endedMs < untilMs) ? 'kept' : 'not judged';
}

/**
 * The bound: every attempt is answered, and at least one begins after the end of all earlier holds, and is decided before
 * an attempt of the next instant begins.
 */
function isTriedOnFreeLock(
  attempts: readonly Attempt[],
  before: readonly Attempt[],
  after: readonly Attempt[],
  { leaseMs }: Times,
): boolean {
  // An attempt without an answer may have taken the lock for the time of its lease.
  const freeMs = Math.max(
    ...before.map(({ code, endedMs }) => endedMs + (isAnswer(code) ? 0 : leaseMs)),
    -Infinity,
  );
  const nextMs = Math.min(...after.map(({ startedMs }) => startedMs), Infinity);
  return (
    attempts.every(({ code }) => isAnswer(code)) &&
    attempts.some(({ code, startedMs, endedMs }) => startedMs > freeMs && (code === RAN || endedMs < nextMs))
  );
}

export const isAnswer = (code: number | null): boolean => code === RAN || code === REFUSED;

/** What was judged, and of which instants nothing can be said. */
export function summaryOf(judgements: readonly Judgement[], attempts: readonly Attempt[]): string {
  const count = (code: number): number => attempts.filter((each) => each.code === code).length;
  const of = (which: 'atMostOnce' | 'atLeastOnce'): string => {
    const having = (verdict: Verdict): readonly Judgement[] =>
      judgements.filter((each) => each[which] === verdict);
    const others = (['broken', 'not judged'] as const).map((verdict) => {
      const instants = having(verdict).map(({ instant }) => instant);
      return instants.length === 0 ? '' : `, ${verdict} at ${instants.join(' ')}`;
    });
    return `kept at ${having('kept').length} of them${others.join('')}`;
  };
  const answered = count(RAN) + count(REFUSED);
  return [
    `crontab: ${judgements.length} instants; runs of each: ${judgements.map(({ runs }) => runs).join(' ')}`,
    `at most once: ${of('atMostOnce')}`,
    `at least once: ${of('atLeastOnce')}`,
    `${attempts.length} attempts, ${count(REFUSED)} refused, ${attempts.length - answered} without an answer`,
  ].join('; ');
}
