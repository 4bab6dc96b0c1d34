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

/**
 * Returns a proxy of the object. A call of a driver's method that the object lacks fails with an error that names the
 * method.
 *
 * @param what - The name of the driver's class, such as `Collection`.
 */
export function refusingOthers<T extends object>(object: T, what: string): T {
  return new Proxy(object, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value === 'function' && property !== 'constructor') return value.bind(target) as unknown;
      const isKnown = typeof property === 'symbol' || property in target || ASKED_OF_ANY.includes(property);
      if (isKnown) return value;
      return () => {
        throw notSimulated(new NotSimulatedError(`${what}.${property}`));
      };
    },
  });
}
