import { answered } from '../replica-set/reply.js';
import { project } from '../server/projections.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { compareValues, fromDriver, toDriver } from '../server/values.js';
import type { DocumentValue } from '../server/values.js';
import { namespaceOf, read } from './command.js';
import type { CommandReader } from './command.js';
import { found } from './filters.js';
import { refuseOtherCollation, refuseOtherOptions } from './options.js';

const KNOWN = [
  ...[
    'find',
    'filter',
    'projection',
    'limit',
    'sort',
    'readConcern',
    'batchSize',
    'singleBatch',
    'collation',
  ],
];

/** Reads the latest state, or the state that a majority has. The whole answer is one batch. */
export const find: CommandReader = (given, database) => {
  refuseOtherOptions('find', given, KNOWN);
  refuseOtherCollation('find', given['collation']);
  const namespace = namespaceOf(given, 'find', database);
  const filter = fromDriver(given['filter'] ?? {}) as DocumentValue;
  const fields = fromDriver(given['projection'] ?? {}) as DocumentValue;
  const order = sortOf(given['sort']);
  const { level = 'local' } = (given['readConcern'] ?? {}) as { readonly level?: unknown };
  if (level !== 'local' && level !== 'majority')
    throw new NotSimulatedError(`the read concern ${String(level)}`);
  const limit = Number(given['limit'] ?? 0);
  return {
    ...read('find'),
    run: ({ member }, respond) => {
      const { nowMs } = member;
      const state = level === 'local' ? member.latest : member.committed;
      const all = [...found(state, namespace, filter, nowMs)].sort(order);
      const firstBatch = (limit > 0 ? all.slice(0, limit) : all).map((document) =>
        toDriver(fields.size === 0 ? document : project(document, fields, nowMs)),
      );
      respond(answered({ cursor: { id: 0, ns: namespace, firstBatch } }));
    },
  };
};

function sortOf(given: unknown): (a: DocumentValue, b: DocumentValue) => number {
  const keys = Object.entries((given ?? {}) as Readonly<Record<string, unknown>>);
  for (const [field, direction] of keys) {
    if (field.includes('.') || Math.abs(Number(direction)) !== 1)
      throw new NotSimulatedError(`a sort by ${field}`);
  }
  return (a, b) => {
    for (const [field, direction] of keys) {
      const result = compareValues(a.get(field), b.get(field)) * Number(direction);
      if (result !== 0) return result;
    }
    return 0;
  };
}
