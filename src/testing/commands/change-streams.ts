import { answered } from '../replica-set/reply.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { fromDriver, isArray, isDocument } from '../server/values.js';
import { CURSOR_KILLED } from './change-cursors.js';
import { namespaceOf, read, readAnywhere } from './command.js';
import type { CommandReader } from './command.js';
import { refuseOtherOptions } from './options.js';

/** Opens a change stream. No other aggregation is simulated. */
export const aggregate: CommandReader = (given, database) => {
  refuseOtherOptions('aggregate', given, ['aggregate', 'pipeline', 'cursor', 'readConcern']);
  const namespace = namespaceOf(given, 'aggregate', database);
  const pipeline = fromDriver(given['pipeline']);
  const [first, ...stages] = isArray(pipeline) ? pipeline : [];
  const options = isDocument(first) ? first.get('$changeStream') : undefined;
  if (!isDocument(options)) throw new NotSimulatedError('an aggregation other than a change stream');
  const [option] = options.keys();
  if (option !== undefined) throw new NotSimulatedError(`the option ${option} of a change stream`);
  return {
    ...read('aggregate'),
    run: ({ cursors }, respond) => {
      cursors.open(namespace, stages).next(0, 'firstBatch', respond);
    },
  };
};

export const getMore: CommandReader = (given) => {
  const [id, awaitMs] = [Number(given['getMore']), Number(given['maxTimeMS'] ?? 1_000)];
  return {
    ...readAnywhere('getMore'),
    run: ({ cursors }, respond) => {
      const cursor = cursors.get(id);
      if (cursor === undefined) respond(CURSOR_KILLED);
      else cursor.next(awaitMs, 'nextBatch', respond);
    },
  };
};

export const killCursors: CommandReader = (given) => {
  const ids = (given['cursors'] as readonly unknown[]).map(Number);
  return {
    ...readAnywhere('killCursors'),
    run: ({ cursors }, respond) => {
      for (const id of ids) cursors.kill(id);
      respond(answered({ cursorsKilled: ids }));
    },
  };
};
