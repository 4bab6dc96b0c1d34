import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

export async function once(uri: string, work: () => Promise<void>): Promise<void> {
  const client = new MongoClient(uri);
  const locks = new LockProvider(client.db('pack'));
  try {
    const lock = await locks.createMutex('types').acquire();
    try {
      await work();
    } finally {
      await lock.release();
    }
  } finally {
    await locks.close();
    await client.close();
  }
}
