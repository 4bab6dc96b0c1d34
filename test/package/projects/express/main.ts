import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

import { createApp } from './app.js';

const client = new MongoClient(process.env['MONGODB_URI'] ?? '');
const db = client.db(`express-${String(process.pid)}`);
const tokens: number[] = [];
let atATime = 0;

/** One instance of the application, as one container has it. */
async function start() {
  const locks = new LockProvider(db);
  const app = createApp(locks, async (orderId, { fencingToken }) => {
    atATime += 1;
    strictEqual(atATime, 1);
    tokens.push(fencingToken);
    await sleep(50);
    atATime -= 1;
    return `shipped ${orderId}`;
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { locks, server, url: `http://127.0.0.1:${String(port)}` };
}

const [one, other] = [await start(), await start()];
const ship = (url: string) => fetch(`${url}/orders/42/shipments`, { method: 'POST' });
const answers = await Promise.all([one, other, one, other].map(({ url }) => ship(url)));
deepStrictEqual(
  answers.map(({ status }) => status),
  [201, 201, 201, 201],
);
deepStrictEqual(
  tokens,
  [...tokens].sort((a, b) => a - b),
);
strictEqual((await fetch(`${one.url}/health/ready`)).status, 200);

const hold = await one.locks.acquireMutex('order:42');
const busy = await ship(other.url);
deepStrictEqual([busy.status, await busy.text()], [409, 'the order is busy']);

// A client that goes away leaves the queue.
const leaving = new AbortController();
const left = fetch(`${other.url}/orders/42/shipments`, { method: 'POST', signal: leaving.signal });
left.catch(() => undefined);
while (((await one.locks.inspect('order:42'))?.waiters.length ?? 0) === 0) await sleep(20);
leaving.abort();
while (((await one.locks.inspect('order:42'))?.waiters.length ?? 1) > 0) await sleep(20);
ok(hold.isHeld);
await hold.release();

await one.locks.close();
strictEqual((await fetch(`${one.url}/health/ready`)).status, 503);
for (const { server, locks } of [one, other]) {
  server.close();
  server.closeAllConnections();
  await locks.close();
}
await db.dropDatabase();
await client.close();
console.log('Express 5: a route under a lock, 409 for a busy one, health');
