const { LockProvider } = require('leasehold');
const { MongoClient } = require('mongodb');

async function main() {
  const client = new MongoClient(process.env.MONGODB_URI);
  const locks = new LockProvider(client.db('pack'));
  const lock = await locks.createMutex('require').acquire();
  await lock.release();
  await locks.close();
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
