type Methods<T> = { readonly [Name in keyof T]?: (...args: never[]) => unknown };

/** The same object with these methods instead of its own. A method of the object that calls another one calls its own. */
export const withMethods = <T extends object>(object: T, methods: Methods<T>): T =>
  new Proxy(object, {
    get: (target, name) => {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      // The private fields of a class are those of the object, not of the proxy.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
