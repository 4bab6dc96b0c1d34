import { answered } from '../replica-set/reply.js';
import { project } from '../server/projections.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { fromDriver, toDriver } from '../server/values.js';
import type { DocumentValue } from '../server/values.js';
import { namespaceOf, write } from './command.js';
import type { CommandReader } from './command.js';
import { found } from './filters.js';
import { change, upsert } from './one-update.js';
import { awaitsMajority, refuseOtherCollation, refuseOtherOptions } from './options.js';
import { respondToWrite } from './write-concern.js';

const KNOWN = ['findAndModify', 'query', 'update', 'new', 'upsert', 'fields', 'collation', 'writeConcern'];

export const findAndModify: CommandReader = (given, database) => {
  refuseOtherOptions('findAndModify', given, KNOWN);
  refuseOtherCollation('findAndModify', given['collation']);
  if (given['new'] !== true) throw new NotSimulatedError('findAndModify without the option new');
  const namespace = namespaceOf(given, 'findAndModify', database);
  const filter = fromDriver(given['query'] ?? {}) as DocumentValue;
  const update = fromDriver(given['update']);
  const fields = given['fields'] === undefined ? undefined : (fromDriver(given['fields']) as DocumentValue);
  const isUpsert = given['upsert'] === true;
  const isMajority = awaitsMajority('findAndModify', given['writeConcern']);
  return {
    ...write('findAndModify'),
    run: (server, respond) => {
      const { nowMs, latest } = server.member;
      const [stored] = found(latest, namespace, filter, nowMs);
      const isInserted = stored === undefined && isUpsert;
      const after = isInserted
        ? upsert(server.member, namespace, filter, update)
        : stored && change(server.member, namespace, stored, update);
      const shown = after === undefined ? null : fields === undefined ? after : project(after, fields, nowMs);
      const answer = {
        lastErrorObject: { n: after === undefined ? 0 : 1, updatedExisting: stored !== undefined },
        value: toDriver(shown),
      };
      respondToWrite(server, isMajority, answered(answer), respond);
    },
  };
};
