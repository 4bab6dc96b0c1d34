import { NOW, bind, when } from '../expressions.js';
import type { Expression } from '../expressions.js';

const HALF_DAY_MS = 43_200_000;

/** A multiplier that is coprime to half a day, so that tokens which follow each other come to lie far apart. */
const SPREAD = 48_271;

/** Between half a day and a day; by the fence, so that locks which were used together are not purged together. */
const marginOf = (fence: Expression): Expression => ({
  $add: [HALF_DAY_MS, { $mod: [{ $multiply: [{ $mod: [fence, HALF_DAY_MS] }, SPREAD] }, HALF_DAY_MS] }],
});

/**
 * The date from which a document may be purged, which is needed so many ms from now on. It stays as it is while it covers
 * that, so that its index is rarely touched; else it is raised by a margin that lasts for half a day at least.
 */
export const purgeAfter = (ms: number, purgeAt: Expression, fence: Expression): Expression =>
  bind(
    { neededUntil: { $add: [NOW, ms] } },
    when({ $gte: [purgeAt, '$$neededUntil'] }, purgeAt, { $add: ['$$neededUntil', marginOf(fence)] }),
  );
