/**
 * The options that have a value. For the driver, an option that is `undefined` is given, so the default does not apply.
 */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
