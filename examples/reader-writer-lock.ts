// A reader-writer lock. Readers share it, a writer holds it alone. An upgradeable read looks first, and then becomes
// the writer without a release, so nothing changes between the look and the write.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db);

const catalogue = db.collection<{ _id: string; edition: number }>('catalogue');
const lock = locks.createReaderWriterLock('catalogue');

async function currentEdition(): Promise<number> {
  return (await catalogue.findOne({ _id: 'catalogue' }))?.edition ?? 0;
}

async function read(reader: string): Promise<void> {
  await lock.useRead(async ({ signal }) => {
    console.log(`${reader} reads edition ${await currentEdition()}`);
    await sleep(200, undefined, { signal });
  });
}

async function publish(editor: string, edition: number): Promise<void> {
  await using hold = await lock.acquireUpgradeableRead({ timeoutMs: 10_000 });
  if ((await currentEdition()) >= edition) {
    console.log(`${editor} finds edition ${edition} published`);
    return;
  }
  await hold.upgrade(); // waits until the other readers have released
  await catalogue.updateOne({ _id: 'catalogue' }, { $set: { edition } }, { upsert: true });
  console.log(`${editor} publishes edition ${edition}`);
}

await Promise.all([read('A'), read('B'), publish('C', 1), publish('D', 1), read('E')]);

await locks.close();
await client.close();
