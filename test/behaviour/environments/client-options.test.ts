import type { DbOptions, MongoClientOptions } from 'mongodb';
import { ReadConcern, ServerApiVersion } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { Wakeups } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { thrown } from '../../../lab/patience.js';
import { EXTENDED_OFTEN, expectOwnConcerns, expectUsualBehaviour } from './usual-behaviour.js';
import type { Observed } from './usual-behaviour.js';

/** Client options that change what a library sends or reads, unless it sets its own. */
const CLIENTS: Readonly<Record<string, MongoClientOptions>> = {
  'w: 0': { writeConcern: { w: 0 } },
  'w: 1 without journal': { writeConcern: { w: 1, journal: false } },
  'readPreference secondaryPreferred': { readPreference: 'secondaryPreferred' },
  'readConcern available': { readConcern: { level: 'available' } },
  'readConcern linearizable': { readConcern: { level: 'linearizable' } },
  'no retries': { retryWrites: false, retryReads: false },
  'promoteLongs: false': { promoteLongs: false },
  'useBigInt64: true': { useBigInt64: true },
  'promoteValues: false': { promoteValues: false },
  'raw: true': { raw: true },
  'bsonRegExp and promoteBuffers': { bsonRegExp: true, promoteBuffers: true },
  'ignoreUndefined: true': { ignoreUndefined: true },
  'serializeFunctions and checkKeys': { serializeFunctions: true, checkKeys: true },
  'maxPoolSize: 2': { maxPoolSize: 2 },
  'directConnection: true': { directConnection: true },
  'a strict server API': {
    serverApi: { version: ServerApiVersion.v1, strict: true, deprecationErrors: true },
  },
};

// eslint-disable-next-line @typescript-eslint/no-deprecated -- earlier drivers obey it.
const IMPATIENT: MongoClientOptions = { timeoutMS: 500 };

const DATABASES: Readonly<Record<string, DbOptions>> = {
  'writeConcern w: 0': { writeConcern: { w: 0 } },
  'readConcern linearizable': { readConcern: new ReadConcern('linearizable') },
  'readPreference secondary': { readPreference: 'secondary' },
  'BSON options of its own': { promoteLongs: false, useBigInt64: false, promoteValues: false, raw: true },
};

async function expectUsual(
  mode: Wakeups,
  clientOptions: MongoClientOptions,
  dbOptions?: DbOptions,
): Promise<Observed> {
  await using database = new OwnDatabase();
  const [here, there] = [
    database.client(clientOptions, dbOptions),
    database.client(clientOptions, dbOptions),
  ];
  const observed = await expectUsualBehaviour(
    here.provider(EXTENDED_OFTEN),
    there.provider(EXTENDED_OFTEN),
    mode,
  );
  expect(observed.storeErrors).toEqual([]);
  expectOwnConcerns([...here.commands, ...there.commands]);
  return observed;
}

describe.concurrent('locks behave the same on', () => {
  it.each(Object.entries(CLIENTS))('a client with %s', async (_, options) => {
    await expectUsual('change-stream', options);
  });

  it('a client with timeoutMS: 500', async () => {
    // On a busy machine, an answer may take longer, and is then rightly reported as missing.
    for (let failures = 0; ; failures += 1) {
      try {
        await expectUsual('change-stream', IMPATIENT);
        return;
      } catch (error) {
        if (failures === 2) throw error;
        console.log(`leasehold: tried again: ${String(error)}`);
      }
    }
  });

  it.each(Object.entries(DATABASES))('a database with %s', async (_, options) => {
    await expectUsual('change-stream', {}, options);
  });

  it('a client with a pool of one connection, by polling, and an event says why', async () => {
    const { wakeups } = await expectUsual('polling', { maxPoolSize: 1 });
    expect(wakeups[0]?.why).toMatch(/pool/);
  });
});

describe('a provider that demands a change stream', () => {
  it('is rejected at construction if the pool has room for one connection only', async () => {
    await using database = new OwnDatabase();
    const { db, commands } = database.client({ maxPoolSize: 1 });
    const error = thrown(() => new LockProvider(db, { wakeups: 'change-stream' }));
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toMatch(/maxPoolSize.*at least 2.*got 1/);
    expect(commands).toEqual([]);
  });
});
