// A semaphore. All processes together make at most two calls at a time to a service that allows no more.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const LIMIT = 2;

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db);

const calls = locks.createSemaphore('api:forecast', LIMIT);
let running = 0;

async function fetchForecast(city: string, signal: AbortSignal): Promise<void> {
  running += 1;
  console.log(`${city}: ${running} at a time`);
  await sleep(200, undefined, { signal }); // stands for the call
  running -= 1;
}

await Promise.all(
  ['Oslo', 'Rome', 'Lima', 'Bern', 'Kyiv'].map((city) =>
    calls.use(({ signal }) => fetchForecast(city, signal), { timeoutMs: 10_000, why: city }),
  ),
);
console.log(`${await calls.available()} of ${calls.limit} permits are free`);

await locks.close();
await client.close();
