import { all, bind, filter, when } from './expressions.js';
import type { Expression } from './expressions.js';

/**
 * The words of `wake`, which tells what the last update of a document did, each preceded by a space:
 *
 * - `process:id:token`: granted, with this token; `process:id:0`: look again.
 * - `process:id:-1`: somebody waits behind this lease, whose process may keep it between its callers.
 * - `-id:token`: left, and gave back the lease with this token, or none.
 * - `~nonce`: somebody looked, so that this update changed something.
 * - `+nonce:outcome`: what became of a claim.
 */

/** This text with one more word for each of these members. */
const withWords = (text: Expression, members: Expression, word: readonly Expression[]): Expression => ({
  $reduce: { input: members, initialValue: text, in: { $concat: ['$$value', ' ', ...word] } },
});

/** Each concatenation copies the whole text, so thousands of words are put together in portions. */
const PORTION = 100;

/** `wake` with one more word for each of these members, which may be thousands. */
const named = (members: Expression, word: readonly Expression[]): Expression =>
  bind(
    { members },
    {
      $reduce: {
        input: { $range: [0, { $size: '$$members' }, PORTION] },
        initialValue: '$wake',
        in: {
          $concat: ['$$value', withWords('', { $slice: ['$$members', '$$this', PORTION] }, word)],
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

/** Names each of these new leases, with its token. */
export const granted = (leases: Expression): Expression => named(leases, GRANTED);

/** The same for one lease at most. */
export const grantedOne = (leases: Expression): Expression => withWords('$wake', leases, GRANTED);

/** Tells those of these leases for which the condition on `$$this` holds to look again. */
export const holdersTold = (leases: Expression, cond: Expression): Expression =>
  named(filter(leases, cond), ['$$this.process', ':', '$$this.id', ':0']);

/** Tells the keepers of these leases that somebody waits, if this holds; but for this process, which knows. */
export const keepersTold = (
  leases: Expression,
  condition: Expression,
  but: string | null = null,
): Expression => {
  const keepers = filter(leases, all({ $gt: ['$$this.keeps', 0] }, { $ne: ['$$this.process', but] }));
  // The condition once, and not for each of hundreds of leases.
  return named(when(condition, keepers, []), ['$$this.process', ':', '$$this.id', ':-1']);
};

/** `holdersTold` for waiters, as `{ k: attempt id, v: waiter }`. */
export const waitersTold = (waiters: Expression, cond: Expression): Expression =>
  named(filter(waiters, cond), ['$$this.v.process', ':', '$$this.k', ':0']);

export const left = (id: string, token: Expression, wake: Expression = '$wake'): Expression => ({
  $concat: [wake, ` -${id}:`, { $toString: token }],
});

export const looked = (nonce: string): Expression => ({ $concat: ['$wake', ` ~${nonce}`] });

/** What has become of the operation with this nonce. */
export const answered = (nonce: string, outcome: Expression): Expression => ({
  $concat: ['$wake', ` +${nonce}:`, outcome],
});

export const readWake = (wake: unknown): readonly string[] =>
  typeof wake === 'string' ? wake.split(' ').filter((word) => word !== '') : [];

/** Instead of a token: somebody waits behind a lease that is kept. */
export const OTHERS_WAIT = -1;

/** Whom a word of `wake` names, if it is an attempt of this process: its id and token, or what stands in its place. */
export function readWakeWord(process: string, word: string): { id: string; token: number } | undefined {
  if (!word.startsWith(`${process}:`)) return undefined;
  const [id = '', token = ''] = word.slice(process.length + 1).split(':');
  return { id, token: Number(token) };
}

/** The token of the lease that a `leave` gave back; 0 if there was none, `undefined` if it did not take effect. */
export function tokenGivenBack(wake: readonly string[], id: string): number | undefined {
  const word = wake.find((entry) => entry.startsWith(`-${id}:`));
  return word === undefined ? undefined : Number(word.slice(id.length + 2));
}

/** Whose lease a `leave` has given back, if this word says so. */
export const idGivenBack = (word: string): string | undefined => /^-([^:]+):(?!0$)/.exec(word)?.[1];

/** What `answered` said of this nonce; `undefined` if the operation did not take effect. */
export function answerTo(wake: readonly string[], nonce: string): string | undefined {
  return wake.find((word) => word.startsWith(`+${nonce}:`))?.slice(nonce.length + 2);
}
