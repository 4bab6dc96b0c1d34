import { strictEqual } from 'node:assert';

import * as leasehold from 'leasehold';
import { QuorumError, QuorumLockProvider } from 'leasehold/quorum';
import { MongoClient } from 'mongodb';

strictEqual(QuorumLockProvider, leasehold.QuorumLockProvider);
strictEqual(QuorumError, leasehold.QuorumError);
strictEqual(QuorumError.prototype instanceof leasehold.LeaseholdError, true);

const client = new MongoClient(process.env.MONGODB_URI);
const locks = new QuorumLockProvider(['pack-a', 'pack-b', 'pack-c'].map((name) => client.db(name)));
const lock = await locks.createMutex('import').acquire();
await lock.release();
await locks.close();
await client.close();
