const { LockProvider } = require('leasehold');
const { instrument } = require('leasehold/opentelemetry');
const { MongoClient } = require('mongodb');

async function main() {
  const client = new MongoClient(process.env.MONGODB_URI);
  const locks = new LockProvider(client.db('pack'));
  const stop = instrument(locks);
  await (await locks.acquireMutex('opentelemetry-require')).release();
  await locks.close();
  stop();
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
