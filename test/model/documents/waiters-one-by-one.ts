import type { Expression } from '../../../src/protocol/expressions.js';
import type { LockKind } from '../../../src/protocol/lock-document.js';

const type = (field: string): Expression => ({ $type: `$$this.v.${field}` });

const isOfType = (field: string, name: string): Expression => ({ $eq: [type(field), name] });

const isIntIn = (field: string, least: number, greatest: number): Expression => ({
  $and: [
    isOfType(field, 'int'),
    { $gte: [`$$this.v.${field}`, least] },
    { $lte: [`$$this.v.${field}`, greatest] },
  ],
});

const IS_RESERVE: Expression = { $or: [isOfType('keeps', 'missing'), isIntIn('keeps', 0, 1_000)] };

const OF_KIND: Readonly<Record<LockKind, readonly Expression[]>> = {
  mutex: [IS_RESERVE],
  'reader-writer': [{ $in: ['$$this.v.mode', ['read', 'upgradeable', 'write']] }],
  semaphore: [IS_RESERVE, isIntIn('permits', 1, 2_147_483_647)],
  election: [
    isOfType('candidateId', 'string'),
    isOfType('value', 'string'),
    isIntIn('transitionMs', 0, 86_400_000),
    // A later condition of `$and` is not evaluated after a false one, so numbers are added only if they are numbers.
    { $lte: [{ $add: ['$$this.v.leaseMs', '$$this.v.transitionMs'] }, 86_400_000] },
  ],
};

/**
 * What a well-formed queue is, in the plainest words: each place meets each condition. The pipelines check the same with
 * fewer steps.
 */
export const haveWaitersOneByOne = (kind: LockKind): Expression => ({
  $and: [
    { $eq: [{ $type: '$queue' }, 'object'] },
    {
      $allElementsTrue: [
        {
          $map: {
            input: { $objectToArray: '$queue' },
            in: {
              $and: [
                isOfType('process', 'string'),
                isOfType('expiresAt', 'date'),
                isIntIn('leaseMs', 100, 86_400_000),
                ...OF_KIND[kind],
              ],
            },
          },
        },
      ],
    },
  ],
});
