import type { Collection, Document } from 'mongodb';

import { within } from '../../../src/clock.js';
import type { Clock } from '../../../src/clock.js';

/** As the option `socketTimeoutMS` of a real client: a reply may be lost. */
const BOUND_MS = 5_000;

const BOUNDED: readonly (string | symbol)[] = ['updateOne', 'findOne'];

/** The same collection. A call that is not answered in time fails, and may take effect nevertheless. */
export const boundedCollection = <T extends Document>(
  collection: Collection<T>,
  clock: Clock,
): Collection<T> =>
  new Proxy(collection, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (!BOUNDED.includes(property)) return value;
      return async (...given: unknown[]): Promise<unknown> => {
        const call = (value as (...args: unknown[]) => Promise<unknown>)(...given);
        const answer = await within(
          clock,
          BOUND_MS,
          call.then((result) => ({ result })),
        );
        if (answer === undefined) throw new Error(`no answer within ${String(BOUND_MS)} ms`);
        return answer.result;
      };
    },
  });
