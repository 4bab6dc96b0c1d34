import { answered } from '../replica-set/reply.js';
import type { Namespace } from '../replica-set/documents.js';
import { ServerError } from '../server/errors/server-error.js';
import { fromDriver, toDriver } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import { namespaceOf, write } from './command.js';
import type { CommandReader, GivenCommand, Server } from './command.js';
import { DuplicateKeyError } from './duplicate-key.js';
import { found } from './filters.js';
import { change, insert, put, upsert } from './one-update.js';
import { awaitsMajority, refuseOtherCollation, refuseOtherOptions } from './options.js';
import { respondToWrite } from './write-concern.js';

interface Statement {
  readonly filter: DocumentValue;
  readonly update: Value;
  readonly isUpsert: boolean;
  readonly isMulti: boolean;
}

interface Effect {
  readonly matched: number;
  readonly modified: number;
  readonly upsertedId?: Value;
}

function readStatement(given: GivenCommand): Statement {
  refuseOtherOptions('update', given, ['q', 'u', 'upsert', 'multi', 'collation']);
  refuseOtherCollation('update', given['collation']);
  return {
    filter: fromDriver(given['q']) as DocumentValue,
    update: fromDriver(given['u']),
    isUpsert: given['upsert'] === true,
    isMulti: given['multi'] === true,
  };
}

/** After an update that failed, an ordered command skips the later updates. An unordered command goes on with them. */
export const update: CommandReader = (given, database) => {
  refuseOtherOptions('update', given, ['update', 'updates', 'ordered', 'writeConcern']);
  const namespace = namespaceOf(given, 'update', database);
  const statements = (given['updates'] as readonly GivenCommand[]).map(readStatement);
  return writing('update', given, statements, (server, statement) => runUpdate(server, namespace, statement));
};

function runUpdate(server: Server, namespace: Namespace, statement: Statement): Effect {
  const { filter, isUpsert, isMulti } = statement;
  const { latest, nowMs } = server.member;
  const all = [...found(latest, namespace, filter, nowMs)];
  if (all.length === 0 && isUpsert) {
    const { ...made } = { id: upsert(server.member, namespace, filter, statement.update).get('_id') ?? null };
    return { matched: 1, modified: 0, upsertedId: made.id };
  }
  const chosen = isMulti ? all : all.slice(0, 1);
  let modified = 0;
  for (const document of chosen) {
    const { length } = server.member;
    change(server.member, namespace, document, statement.update);
    if (server.member.length > length) modified += 1;
  }
  return { matched: chosen.length, modified };
}

export const insertCommand: CommandReader = (given, database) => {
  refuseOtherOptions('insert', given, ['insert', 'documents', 'ordered', 'writeConcern']);
  const namespace = namespaceOf(given, 'insert', database);
  const documents = (given['documents'] as readonly unknown[]).map(
    (each) => fromDriver(each) as DocumentValue,
  );
  return writing('insert', given, documents, (server, document) => {
    insert(server.member, namespace, document);
    return { matched: 1, modified: 0 };
  });
};

export const deleteCommand: CommandReader = (given, database) => {
  refuseOtherOptions('delete', given, ['delete', 'deletes', 'ordered', 'writeConcern']);
  const namespace = namespaceOf(given, 'delete', database);
  const statements = (given['deletes'] as readonly GivenCommand[]).map((statement) => {
    refuseOtherOptions('delete', statement, ['q', 'limit', 'collation']);
    refuseOtherCollation('delete', statement['collation']);
    return { filter: fromDriver(statement['q']) as DocumentValue, isOne: statement['limit'] === 1 };
  });
  return writing('delete', given, statements, (server, { filter, isOne }) => {
    const all = [...found(server.member.latest, namespace, filter, server.member.nowMs)];
    const chosen = isOne ? all.slice(0, 1) : all;
    for (const document of chosen) put(server.member, namespace, document, undefined);
    return { matched: chosen.length, modified: 0 };
  });
};

function writing<S>(
  name: string,
  given: GivenCommand,
  statements: readonly S[],
  runOne: (server: Server, statement: S) => Effect,
): ReturnType<CommandReader> {
  const isMajority = awaitsMajority(name, given['writeConcern']);
  const isOrdered = given['ordered'] !== false;
  return {
    ...write(name),
    run: (server, respond) => {
      const tally = { n: 0, nModified: 0 };
      const upserted: object[] = [];
      const writeErrors: object[] = [];
      for (const [index, statement] of statements.entries()) {
        try {
          const { matched, modified, upsertedId } = runOne(server, statement);
          tally.n += matched;
          tally.nModified += modified;
          if (upsertedId !== undefined) upserted.push({ index, _id: toDriver(upsertedId) });
        } catch (error) {
          if (!(error instanceof ServerError)) throw error;
          writeErrors.push(writeErrorOf(index, error));
          if (isOrdered) break;
        }
      }
      const lists = {
        ...(upserted.length > 0 && { upserted }),
        ...(writeErrors.length > 0 && { writeErrors }),
      };
      respondToWrite(server, isMajority, answered({ ...tally, ...lists }), respond);
    },
  };
}

const writeErrorOf = (index: number, error: ServerError): object => {
  const { code, message: errmsg } = error;
  return { index, code, errmsg, ...(error instanceof DuplicateKeyError ? error.details : {}) };
};
