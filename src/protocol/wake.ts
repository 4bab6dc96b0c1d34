import { all, bind, filter, hasType, when } from './expressions.js';
import type { Expression } from './expressions.js';

// The words of `wake`, each preceded by a space. They say what the last update of the document did:
//
// - `process:id:token`: this attempt was granted a seat or an upgrade, with this token.
// - `process:id:0`: the process of this attempt has to ask the server again (`LOOK_AGAIN`).
// - `process:id:-1`: the process has to give back the seat of this attempt (`OTHERS_WAIT`).
// - `-id:token`: a leave or a hand-over of this attempt gave back the lease with this token. With token 0, no lease was
//   given back.
// - `^traceparent`: the trace context of a lease that a leave or a hand-over gave back.
// - `~nonce`: a look or a raised fence. The nonce makes the update a real write.
// - `+nonce:outcome`: the outcome of a claim, a call or the end of a run.

/**
 * Stands in place of a token in a word of `wake`: the process of the attempt has to ask the server again, for a waiter
 * by a look, and for a lease by an extension.
 */
export const LOOK_AGAIN = 0;

/**
 * Stands in place of a token in a word of `wake`: a request or an upgrade was not granted, or a new limit is exceeded.
 * So the process of the attempt has to give the seat back, at the latest after as many further passes as the option
 * `passes` allows.
 */
export const OTHERS_WAIT = -1;

const appendWords = (text: Expression, members: Expression, word: readonly Expression[]): Expression => ({
  $reduce: { input: members, initialValue: text, in: { $concat: ['$$value', ' ', ...word] } },
});

/**
 * How many words are put together at once. Each concatenation copies the whole text so far, and there may be thousands
 * of words.
 */
const PORTION = 100;

const wakeWith = (members: Expression, word: readonly Expression[]): Expression =>
  bind(
    { members },
    {
      $reduce: {
        input: { $range: [0, { $size: '$$members' }, PORTION] },
        initialValue: '$wake',
        in: {
          $concat: ['$$value', appendWords('', { $slice: ['$$members', '$$this', PORTION] }, word)],
        },
      },
    },
  );

const GRANTED: readonly Expression[] = [
  '$$this.process',
  ':',
  '$$this.id',
  ':',
  { $toString: '$$this.token' },
];

export const granted = (leases: Expression): Expression => wakeWith(leases, GRANTED);

/** Like `granted`, for at most one lease and with fewer expressions. */
export const grantedOne = (leases: Expression): Expression => appendWords('$wake', leases, GRANTED);

/** `wake` with the word `LOOK_AGAIN` for each of these leases that meets the condition on `$$this`. */
export const holdersTold = (leases: Expression, cond: Expression): Expression =>
  wakeWith(filter(leases, cond), ['$$this.process', ':', '$$this.id', `:${String(LOOK_AGAIN)}`]);

const GIVE_BACK: readonly Expression[] = ['$$this.process', ':', '$$this.id', `:${String(OTHERS_WAIT)}`];

/** The leases with `keeps` above 0, except those of the process `but`; none if the condition does not hold. */
const keepersAmong = (leases: Expression, condition: Expression, but: string | null): Expression => {
  const keepers = filter(leases, all({ $gt: ['$$this.keeps', 0] }, { $ne: ['$$this.process', but] }));
  // The condition is outside the filter, so that the server evaluates it once, and not for each of hundreds of leases.
  return when(condition, keepers, []);
};

/**
 * If the condition holds: `wake` with the word `OTHERS_WAIT` for each of these leases that has `keeps` above 0, except
 * those of the process `but`. Otherwise: `wake` as it is.
 */
export const keepersTold = (
  leases: Expression,
  condition: Expression,
  but: string | null = null,
): Expression => wakeWith(keepersAmong(leases, condition, but), GIVE_BACK);

/** Like `keepersTold`, for at most one lease and with fewer expressions. */
export const keeperTold = (
  leases: Expression,
  condition: Expression,
  but: string | null = null,
): Expression => appendWords('$wake', keepersAmong(leases, condition, but), GIVE_BACK);

/** A regular expression that finds the words which name this process. */
export const naming = (process: string): string =>
  ` ${process.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}:`;

/**
 * Whether `wake` has the word `OTHERS_WAIT` for a lease of this process. Whatever is stored, this expression raises no
 * error.
 */
export const isKeeperTold = (process: string): Expression =>
  when(
    hasType('$wake', 'string'),
    { $regexMatch: { input: '$wake', regex: `${naming(process)}[^ :]+:${String(OTHERS_WAIT)}( |$)` } },
    false,
  );

/** Like `holdersTold`, for waiters as `{ k: attempt id, v: waiter }`. */
export const waitersTold = (waiters: Expression, cond: Expression): Expression =>
  wakeWith(filter(waiters, cond), ['$$this.v.process', ':', '$$this.k', `:${String(LOOK_AGAIN)}`]);

/**
 * `wake` with the word of a leave or a hand-over of this attempt.
 *
 * @param token - The token of the lease that was given back; 0: none was given back.
 */
export const departed = (id: string, token: Expression): Expression => ({
  $concat: ['$wake', ` -${id}:`, { $toString: token }],
});

/** The form of a `traceparent`. A text of another form is left out, because it might contain words. */
const TRACEPARENT = '^[0-9a-f-]{55}$';

/** `wake` with the trace context of each of these leases that has one. */
export const traced = (leases: Expression): Expression => ({
  $reduce: {
    input: leases,
    initialValue: '$wake',
    in: when(
      when(
        hasType('$$this.traceparent', 'string'),
        { $regexMatch: { input: '$$this.traceparent', regex: TRACEPARENT } },
        false,
      ),
      { $concat: ['$$value', ' ^', '$$this.traceparent'] },
      '$$value',
    ),
  },
});

/**
 * The word for an attempt that has left, as the only word of `wake`.
 *
 * @param id - The expression of the attempt id.
 */
export const onlyDeparted = (id: Expression, token: Expression): Expression => ({
  $concat: [' -', id, ':', { $toString: token }],
});

/**
 * A word that is never stored. For a group, the server answers only with the number of changed documents. If each
 * statement of the group has changed its document, each leave in the group gave back a lease. The answer to each leave
 * is then `FastPath.counted`, and this word is the `wake` of that answer. The word has `?` in place of the token, which
 * was not read.
 */
export const departedUnread = (id: string): string => `-${id}:?`;

/** `wake` with a nonce that is used only once, so that the update changes the document. */
export const looked = (nonce: string): Expression => ({ $concat: ['$wake', ` ~${nonce}`] });

/** `wake` with the outcome of the operation that has this nonce. */
export const answered = (nonce: string, outcome: Expression): Expression => ({
  $concat: ['$wake', ` +${nonce}:`, outcome],
});

export const readWake = (wake: unknown): readonly string[] =>
  typeof wake === 'string' ? wake.split(' ').filter((word) => word !== '') : [];

/** A word of `wake` that names an attempt of this process. */
export interface WakeWord {
  readonly id: string;
  /** The token of the grant, or `LOOK_AGAIN` or `OTHERS_WAIT`. */
  readonly token: number;
  /** The trace contexts of the leases that the same update gave back before this word; of many, the last ones. */
  readonly handedBy: readonly string[];
}

/** A span has at most so many links, by default. */
const MOST_TRACES = 128;

/** The words for attempts of this process, in their order. */
export function* readWakeWords(process: string, wake: readonly string[]): Iterable<WakeWord> {
  let handedBy: readonly string[] = [];
  for (const word of wake) {
    if (word.startsWith('^')) handedBy = [...handedBy, word.slice(1)].slice(-MOST_TRACES);
    if (!word.startsWith(`${process}:`)) continue;
    const [id = '', token = ''] = word.slice(process.length + 1).split(':');
    yield { id, token: Number(token), handedBy };
  }
}

/** The attempts, of any process, for which these words have `LOOK_AGAIN`. */
export const idsToldToLook = (wake: readonly string[]): ReadonlySet<string> =>
  new Set(wake.flatMap((word) => TOLD_TO_LOOK.exec(word)?.[1] ?? []));

const TOLD_TO_LOOK = new RegExp(`:([^:]+):${String(LOOK_AGAIN)}$`);

/** Whether a leave or a hand-over of this attempt gave back a lease; `undefined` if these words do not tell. */
export function gaveBackLease(wake: readonly string[], id: string): boolean | undefined {
  const word = wake.find((entry) => entry.startsWith(`-${id}:`));
  return word === undefined ? undefined : word !== `-${id}:0`;
}

/** The attempt id, if this word says that the attempt gave back a lease; else `undefined`. */
export const idGivenBack = (word: string): string | undefined => /^-([^:]+):(?!0$)/.exec(word)?.[1];

/**
 * The outcome of the operation with this nonce. `undefined`: the update wrote none, because the document is missing,
 * corrupt or of another kind.
 */
export function answerTo(wake: readonly string[], nonce: string): string | undefined {
  return wake.find((word) => word.startsWith(`+${nonce}:`))?.slice(nonce.length + 2);
}
