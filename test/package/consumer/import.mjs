import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const client = new MongoClient(process.env.MONGODB_URI);
const locks = new LockProvider(client.db('pack'));
const lock = await locks.createMutex('import').acquire();
await lock.release();
await locks.close();
await client.close();
