/** Values that are no limit of a semaphore, each with the class of the error. */
export const BAD_LIMITS: readonly (readonly [unknown, typeof TypeError | typeof RangeError])[] = [
  [0, RangeError],
  [-1, RangeError],
  [1.5, RangeError],
  [2 ** 31, RangeError],
  [Number.NaN, RangeError],
  [Infinity, RangeError],
  ['5', TypeError],
  [5n, TypeError],
  [null, TypeError],
  [undefined, TypeError],
];
