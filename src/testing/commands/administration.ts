import { answered, failed } from '../replica-set/reply.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import { namespaceOf, read, readAnywhere, write } from './command.js';
import type { CommandReader, GivenCommand } from './command.js';
import { awaitsMajority, refuseOtherOptions } from './options.js';
import { respondToWrite } from './write-concern.js';

/** The wire version of MongoDB 6.0, with which the tests compare this set. */
const WIRE_VERSION = 17;

export const hello: CommandReader = (given) => {
  refuseOtherOptions('hello', given, ['hello']);
  return {
    ...readAnywhere('hello'),
    run: ({ member, setName, addresses }, respond) => {
      const isWritablePrimary = member.role === 'primary';
      respond(
        answered({
          ...{ isWritablePrimary, setName, hosts: [...addresses], me: member.address },
          ...{ localTime: new Date(member.nowMs), minWireVersion: 0, maxWireVersion: WIRE_VERSION },
        }),
      );
    },
  };
};

export const ping: CommandReader = () => ({
  ...readAnywhere('ping'),
  run: (_, respond) => {
    respond(answered({}));
  },
});

/** The simulation has no capped collection, so the filter `options.capped: true` selects none. */
export const listCollections: CommandReader = (given, database) => {
  refuseOtherOptions('listCollections', given, ['listCollections', 'filter', 'nameOnly']);
  const filter = { ...(given['filter'] as GivenCommand | undefined) };
  refuseOtherOptions('listCollections', filter, ['name', 'options.capped']);
  const prefix = `${database}.`;
  return {
    ...read('listCollections'),
    run: ({ member }, respond) => {
      const names = member.latest.namespaces.flatMap((namespace) =>
        namespace.startsWith(prefix) ? [namespace.slice(prefix.length)] : [],
      );
      const wanted = names.filter((name) => filter['name'] === undefined || name === filter['name']);
      const listed = filter['options.capped'] === true ? [] : wanted;
      const firstBatch = listed.map((name) => ({ name, type: 'collection', options: {} }));
      respond(answered({ cursor: { id: 0, ns: `${database}.$cmd.listCollections`, firstBatch } }));
    },
  };
};

interface GivenIndex {
  readonly key: Readonly<Record<string, unknown>>;
  readonly expireAfterSeconds?: number;
}

/**
 * Only an index that purges documents has an effect: any other index changes no result. An index with an option other
 * than `name` and `expireAfterSeconds`, such as `unique`, is refused.
 */
export const createIndexes: CommandReader = (given, database) => {
  refuseOtherOptions('createIndexes', given, ['createIndexes', 'indexes', 'writeConcern']);
  const namespace = namespaceOf(given, 'createIndexes', database);
  const indexes = (given['indexes'] as readonly GivenIndex[]).map((index) => {
    const known = ['key', 'name', 'expireAfterSeconds'];
    refuseOtherOptions('an index', index as unknown as GivenCommand, known);
    const [field] = Object.keys(index.key);
    return { field, afterSeconds: index.expireAfterSeconds };
  });
  const isMajority = awaitsMajority('createIndexes', given['writeConcern']);
  return {
    ...write('createIndexes'),
    run: (server, respond) => {
      for (const { field, afterSeconds } of indexes) {
        if (afterSeconds === undefined || field === undefined) continue;
        server.purgeIndexes.add(namespace, { field, afterSeconds });
      }
      respondToWrite(server, isMajority, answered({}), respond);
    },
  };
};

export const drop: CommandReader = (given, database) => {
  refuseOtherOptions('drop', given, ['drop', 'writeConcern']);
  const namespace = namespaceOf(given, 'drop', database);
  const isMajority = awaitsMajority('drop', given['writeConcern']);
  return {
    ...write('drop'),
    run: (server, respond) => {
      const { member } = server;
      if (!member.latest.has(namespace)) {
        respond(failed(26, 'NamespaceNotFound', 'ns not found'));
        return;
      }
      const change = { type: 'drop', namespace, before: [...member.latest.in(namespace)] } as const;
      member.append(change);
      server.purgeIndexes.drop(change);
      respondToWrite(server, isMajority, answered({}), respond);
    },
  };
};

export const notSimulated: CommandReader = (given) => {
  throw new NotSimulatedError(`the command ${Object.keys(given)[0] ?? '(none)'}`);
};
