import { NOW, bind, when } from '../expressions.js';
import type { Expression } from '../expressions.js';

const HALF_DAY_MS = 43_200_000;

/**
 * If the fence rises by 1, the margin moves by this time, in ms (modulo `HALF_DAY_MS`). The number is coprime to
 * `HALF_DAY_MS`, so `HALF_DAY_MS` consecutive fences all have different margins.
 */
const SPREAD = 48_271;

/**
 * A margin between half a day and a day. The fence decides the margin, so that locks which were used together and
 * have different fences are not purged together.
 */
const marginOf = (fence: Expression): Expression => ({
  $add: [HALF_DAY_MS, { $mod: [{ $multiply: [{ $mod: [fence, HALF_DAY_MS] }, SPREAD] }, HALF_DAY_MS] }],
});

/**
 * The new `purgeAt` of a document that is needed for `ms` from now. A stored `purgeAt` that is late enough stays, so
 * that the index is rarely touched. Otherwise the new `purgeAt` is at least half a day later than needed.
 */
export const purgeAfter = (ms: number, purgeAt: Expression, fence: Expression): Expression =>
  bind(
    { neededUntil: { $add: [NOW, ms] } },
    when({ $gte: [purgeAt, '$$neededUntil'] }, purgeAt, { $add: ['$$neededUntil', marginOf(fence)] }),
  );
