import { NotSimulatedError } from '../server/errors/server-error.js';
import { notSimulated } from './driver-errors.js';

/** Properties that promises, serializers and test tools read from any object, to find out what it is. */
const ASKED_OF_ANY: readonly string[] = [
  'then',
  'toJSON',
  'constructor',
  'asymmetricMatch',
  'nodeType',
  'tagName',
];

/** What a class of the driver may have under a symbol, and how an error names it. */
const SYMBOLS: ReadonlyMap<string | symbol, string> = new Map([
  [Symbol.asyncIterator, '[Symbol.asyncIterator]'],
  [Symbol.asyncDispose, '[Symbol.asyncDispose]'],
]);

/**
 * Returns a proxy of the object. A call of a method that the object lacks throws an error that names the method. So
 * does a loop `for await` over the object.
 *
 * @param what - The name of the driver's class, such as `Collection`.
 */
export function refusingOthers<T extends object>(object: T, what: string): T {
  return new Proxy(object, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value === 'function' && property !== 'constructor') return value.bind(target) as unknown;
      const name = typeof property === 'symbol' ? SYMBOLS.get(property) : `.${property}`;
      const isKnown = name === undefined || property in target || ASKED_OF_ANY.includes(String(property));
      if (isKnown) return value;
      return () => {
        throw notSimulated(new NotSimulatedError(`${what}${name}`));
      };
    },
  });
}
