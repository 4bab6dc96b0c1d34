import type { MongoClientOptions } from 'mongodb';
import { describe, expect, it } from 'vitest';

import {
  EXTENDED_OFTEN,
  expectOwnConcerns,
  expectUsualBehaviour,
} from '../../behaviour/environments/usual-behaviour.js';
import { later, staysOpen, within } from '../../../lab/patience.js';
import { OwnDatabase } from '../../support/test-provider.js';

/** Options of a client beyond concerns and BSON: how it connects, monitors, times out and compresses. */
const CLIENTS: Readonly<Record<string, MongoClientOptions>> = {
  'compressors zlib': { compressors: ['zlib'], zlibCompressionLevel: 9 },
  'connections that are closed when idle': { maxIdleTimeMS: 20 },
  'one connection opened at a time': { maxConnecting: 1, maxPoolSize: 3 },
  'checks by polling, twice a second': { serverMonitoringMode: 'poll', heartbeatFrequencyMS: 500 },
  'socketTimeoutMS: 5000': { socketTimeoutMS: 5_000 },
  'no checks of UTF-8': { enableUtf8Validation: false },
  'BSON with bigints and with regular expressions of its own': {
    promoteLongs: true,
    useBigInt64: true,
    bsonRegExp: true,
    promoteBuffers: true,
    ignoreUndefined: true,
  },
  'all options at once that weaken something': {
    writeConcern: { w: 0 },
    readConcern: { level: 'available' },
    readPreference: 'primaryPreferred',
    retryWrites: false,
    retryReads: false,
    promoteValues: false,
    raw: true,
    compressors: ['zlib'],
  },
};

describe.concurrent('locks behave the same on a client with', () => {
  it.each(Object.entries(CLIENTS))('%s', async (_, options) => {
    await using database = new OwnDatabase();
    const [here, there] = [database.client(options), database.client(options)];
    const { storeErrors } = await expectUsualBehaviour(
      here.provider(EXTENDED_OFTEN),
      there.provider(EXTENDED_OFTEN),
      'change-stream',
    );
    expect(storeErrors).toEqual([]);
    expectOwnConcerns([...here.commands, ...there.commands]);
  });
});

it('a client whose socketTimeoutMS is less than the second of an idle stream keeps its stream (E37)', async () => {
  await using database = new OwnDatabase();
  const holder = await database.client().provider().acquireMutex('a');
  const locks = database.client({ socketTimeoutMS: 900 }).provider();
  const storeErrors: unknown[] = [];
  locks.on('storeError', (event) => storeErrors.push(event));
  const waiting = later(locks.acquireMutex('a'));
  // A stream that breaks whenever it is idle breaks at least seven times. On a busy machine, a few answers may be late.
  expect(await staysOpen(waiting, 15_000)).toBe(true);
  await holder.release();
  await (await within(10_000, 'the hand-over', waiting)).release();
  expect(storeErrors.length).toBeLessThan(6);
});
