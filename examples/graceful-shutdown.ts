// A service that ends without leaving a lock behind. Its orchestrator sends SIGTERM, and SIGKILL half a minute later:
// meanwhile the service takes no new work, finishes what it holds, releases it, and ends by itself.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider, ProviderClosedError } from 'leasehold';
import type { LockHandle } from 'leasehold';
import { MongoClient } from 'mongodb';

/** Less than the time between SIGTERM and SIGKILL: 30 s in Kubernetes, 10 s in Docker, by default. */
const DRAIN_MS = 8_000;

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const locks = new LockProvider(client.db(process.env['MONGODB_DATABASE'] ?? 'examples'));

// Readiness: false from the beginning of close(), so no more requests are sent here. Never use it for liveness.
const probes = createServer((_, response) => {
  const { healthy, reasons } = locks.health();
  response.writeHead(healthy ? 200 : 503).end(reasons.join('; '));
}).listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
await once(probes, 'listening');
console.log(`probes on port ${(probes.address() as AddressInfo).port}`);

process.once('SIGTERM', () => void shutDown());

try {
  for (;;) await locks.useMutex('importer', importBatch);
} catch (error) {
  // After close() has begun, every new request ends like this.
  if (!(error instanceof ProviderClosedError)) throw error;
}

/** Works until the batch is done, or until it is asked to release: then it stops at the next safe point. */
async function importBatch({ releaseRequested, signal }: LockHandle): Promise<void> {
  console.log('imports');
  for (let row = 0; row < 1_000 && !releaseRequested.aborted; row += 1) {
    await sleep(20, undefined, { signal }); // your work; a loss of the lock ends it at once
  }
  console.log('stopped at a safe point');
}

async function shutDown(): Promise<void> {
  console.log('ends');
  await locks.close({ drainMs: DRAIN_MS }); // refuses new requests, asks the holders to release, and waits for them
  probes.close();
  probes.closeAllConnections();
  await client.close();
  console.log('ended');
}
