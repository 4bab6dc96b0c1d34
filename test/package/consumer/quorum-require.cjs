const { strictEqual } = require('node:assert');

const leasehold = require('leasehold');
const { QuorumError, QuorumLockProvider } = require('leasehold/quorum');
const { MongoClient } = require('mongodb');

async function main() {
  // Node.js loads the same modules for both.
  const imported = await import('leasehold/quorum');
  strictEqual(QuorumLockProvider, imported.QuorumLockProvider);
  strictEqual(QuorumLockProvider, leasehold.QuorumLockProvider);
  strictEqual(QuorumError, leasehold.QuorumError);
  strictEqual(QuorumError.prototype instanceof leasehold.LeaseholdError, true);

  const client = new MongoClient(process.env.MONGODB_URI);
  const locks = new QuorumLockProvider(['pack-a', 'pack-b', 'pack-c'].map((name) => client.db(name)));
  const lock = await locks.createMutex('require').acquire();
  await lock.release();
  await locks.close();
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
