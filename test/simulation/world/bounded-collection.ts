import type { Collection, Document } from 'mongodb';

import { within } from '../../../src/clock.js';
import type { Clock } from '../../../src/clock.js';
import { withMethods } from '../../support/with-methods.js';

/** As the option `socketTimeoutMS` of a real client: a reply may be lost. */
const BOUND_MS = 5_000;

/** The same collection. A call that is not answered in time fails, and may take effect nevertheless. */
export const boundedCollection = <T extends Document>(
  collection: Collection<T>,
  clock: Clock,
): Collection<T> => {
  const bounded = async <R>(call: Promise<R>): Promise<R> => {
    const answer = await within(
      clock,
      BOUND_MS,
      call.then((result) => ({ result })),
    );
    if (answer === undefined) throw new Error(`no answer within ${String(BOUND_MS)} ms`);
    return answer.result;
  };
  return withMethods(collection, {
    findOne: async (...args: Parameters<Collection<T>['findOne']>) =>
      await bounded(collection.findOne(...args)),
    updateOne: async (...args: Parameters<Collection<T>['updateOne']>) =>
      await bounded(collection.updateOne(...args)),
  });
};
