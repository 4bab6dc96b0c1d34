import type { MongoClientOptions } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { EXTENDED_OFTEN, expectOwnConcerns, expectUsualBehaviour } from './usual-behaviour.js';

// A client that reads from secondaries cannot even connect to a replica set without one.
let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ members: 3 });
});

afterAll(async () => {
  await server.stop();
});

describe.concurrent('with three members, locks behave the same on', () => {
  const clients: Readonly<Record<string, MongoClientOptions>> = {
    'readPreference secondary': { readPreference: 'secondary' },
    'readPreference secondaryPreferred': { readPreference: 'secondaryPreferred' },
    'readPreference nearest': { readPreference: 'nearest', localThresholdMS: 10_000 },
    'w: 0': { writeConcern: { w: 0 } },
    'w: 1': { writeConcern: { w: 1, journal: false } },
  };

  it.each(Object.entries(clients))('a client with %s', async (_, options) => {
    await using database = new OwnDatabase(server.uri);
    const [here, there] = [database.client(options), database.client(options)];
    const { storeErrors } = await expectUsualBehaviour(
      here.provider(EXTENDED_OFTEN),
      there.provider(EXTENDED_OFTEN),
      'change-stream',
    );
    expect(storeErrors).toEqual([]);
    const commands = [...here.commands, ...there.commands];
    expectOwnConcerns(commands);
    const primary = (await database.plain.db.command({ hello: 1 }))['primary'] as string;
    const askedFor = commands.filter(({ commandName }) => commandName !== 'hello');
    expect(new Set(askedFor.map(({ address }) => address))).toEqual(new Set([primary]));
  });
});
