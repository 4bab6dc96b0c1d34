import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import { LockProvider } from '../../../src/index.js';
import { bareLocks } from '../../floor.js';
import { sleep } from '../../measure.js';
import { newClient } from '../../processes/connections.js';
import type { Library } from '../library.js';

export const leasehold: Library = {
  server: 'MongoDB',
  waits: 'queued, woken by a change stream; defaults',
  sends: ['findAndModify', 'update', 'aggregate', 'find', 'getMore'],
  async connect({ uri, dbName }, onCommand) {
    const client = await newClient(uri, onCommand).connect();
    const locks = new LockProvider(client.db(dbName));
    return {
      async acquire(name) {
        const lock = await locks.createMutex(name).acquire();
        return () => lock.release();
      },
      async close() {
        await locks.close();
        await client.close();
      },
    };
  },
};

/** The floor of a lock that no other process wants. */
export const bareDriver: Library = {
  server: 'MongoDB',
  waits: 'never: it excludes nobody; two bare findOneAndUpdate, majority and journal',
  sends: ['findAndModify'],
  async connect({ uri, dbName }) {
    const client = await newClient(uri).connect();
    return { acquire: bareLocks(client.db(dbName)), close: () => client.close() };
  },
};

/** A lock of DistributedLock.MongoDB: the document exists as long as the lock is held. */
interface Held {
  readonly _id: string;
  readonly lockId: string;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly fencingToken: number;
}

// The defaults of that library. Its extensions are left out, because none is due before a third of the expiry.
const EXPIRY_MS = 30_000;
const LEAST_SLEEP_MS = 10;
const MOST_SLEEP_MS = 800;

/** The rules of that library, written anew, because it is a library of .NET. */
export const pollingMutex: Library = {
  server: 'MongoDB',
  waits: `tries again after ${LEAST_SLEEP_MS} to ${MOST_SLEEP_MS} ms, at random; the defaults of DistributedLock.MongoDB`,
  sends: ['findAndModify', 'delete'],
  async connect({ uri, dbName }) {
    const client = await newClient(uri).connect();
    const held = client.db(dbName).collection<Held>('distributed_locks');
    await held.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }, undefined);
    return {
      async acquire(name) {
        let lockId = await tryOnce(held, name);
        while (lockId === undefined) {
          await sleep(LEAST_SLEEP_MS + Math.random() * (MOST_SLEEP_MS - LEAST_SLEEP_MS));
          lockId = await tryOnce(held, name);
        }
        const mine = { _id: name, lockId };
        return () => held.deleteOne(mine);
      },
      close: () => client.close(),
    };
  },
};

/** One command, which changes nothing while the lock is held, so there is never a duplicate key error. */
async function tryOnce(held: Collection<Held>, name: string): Promise<string | undefined> {
  const lockId = randomUUID();
  const isFree = { $lte: [{ $ifNull: ['$expiresAt', new Date(0)] }, '$$NOW'] };
  const taken = {
    _id: name,
    lockId,
    acquiredAt: '$$NOW',
    expiresAt: { $add: ['$$NOW', EXPIRY_MS] },
    fencingToken: { $add: [{ $ifNull: ['$fencingToken', 0] }, 1] },
  };
  const after = await held.findOneAndUpdate(
    { _id: name },
    [{ $replaceWith: { $cond: [isFree, taken, '$$ROOT'] } }],
    { upsert: true, returnDocument: 'after' },
  );
  return after?.lockId === lockId ? lockId : undefined;
}
