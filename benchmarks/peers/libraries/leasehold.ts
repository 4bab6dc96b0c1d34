import { MongoClient } from 'mongodb';
import { LockProvider } from '../../../src/index.js';
import { LOCK_NAME } from '../peer.js';
import type { Peer } from '../peer.js';

export const leasehold: Peer = {
  server: 'MongoDB',
  waits: 'queued, woken by a change stream; defaults',
  sends: ['findAndModify', 'update', 'aggregate', 'find', 'getMore'],
  isGated: false,
  async connect({ uri, dbName }) {
    const client = await new MongoClient(uri).connect();
    const locks = new LockProvider(client.db(dbName));
    const mutex = locks.createMutex(LOCK_NAME);
    return {
      async acquire() {
        const lock = await mutex.acquire();
        return () => lock.release();
      },
      async close() {
        await locks.close();
        await client.close();
      },
    };
  },
};
