import type { Document } from 'mongodb';
import { clientOf } from '../driver-types.js';
import type { DriverChangeStream, DriverDb, DriverSession } from '../driver-types.js';
import { BSON_OPTIONS } from './store-calls.js';

/** The longest time for which the server leaves an idle change stream without an answer, in ms. */
export const AWAIT_MS = 1_000;

interface Bounds {
  readonly socketTimeoutMS?: number | undefined;
  readonly timeoutMS?: number | undefined;
}

export interface ChangeStream {
  readonly stream: DriverChangeStream;
  readonly session: DriverSession;
}

/**
 * Returns a change stream over one collection, and its session. The stream opens at its first use. The caller must end
 * the session after the stream.
 *
 * The session is explicit, because the driver ends an implicit session as soon as an answer arrives after the close of
 * the stream. If `killCursors` is still waiting for a connection at that moment, the driver does not send
 * `killCursors`, and the cursor leaks (R1).
 */
export function changeStream(db: DriverDb, collectionName: string, pipeline: Document[]): ChangeStream {
  // Some versions of the driver bound every call by `timeoutMS`; others do not have this option.
  const { socketTimeoutMS, timeoutMS } = clientOf(db).options as Bounds;
  // The server answers an idle stream after `maxAwaitTimeMS`. A client with a shorter bound would break the stream
  // again and again (E37).
  const bounds = [socketTimeoutMS ?? 0, timeoutMS ?? 0].filter((bound) => bound > 0);
  const maxAwaitTimeMS = Math.min(AWAIT_MS, ...bounds.map((bound) => bound / 2));
  const session = clientOf(db).startSession({ causalConsistency: false });
  try {
    const stream = db.collection(collectionName).watch(pipeline, {
      ...{ session, maxAwaitTimeMS, readPreference: 'primary', readConcern: { level: 'majority' } },
      ...BSON_OPTIONS,
    });
    return { stream, session };
  } catch (error) {
    void session.endSession();
    throw error;
  }
}
