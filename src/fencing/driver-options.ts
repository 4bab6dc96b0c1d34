/**
 * Removes the options that are `undefined`: the driver would take `undefined` for a given value, and not use its
 * default.
 */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
