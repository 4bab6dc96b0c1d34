/**
 * The options that have a value. The driver takes an option that is `undefined` for a given one, and then does not use
 * its default.
 */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
