/** Returns a copy without the options that are `undefined`, so that the driver uses its own defaults for them. */
export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
