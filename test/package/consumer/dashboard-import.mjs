import { match, rejects, strictEqual } from 'node:assert';
import { createRequire } from 'node:module';

import { LockProvider } from 'leasehold';
import { dashboard } from 'leasehold/dashboard';
import { MongoClient } from 'mongodb';

const client = new MongoClient(process.env.MONGODB_URI);
const locks = new LockProvider(client.db('package-check'));
const { dashboard: required } = createRequire(import.meta.url)('leasehold/dashboard');
for (const make of [dashboard, required]) {
  const handler = make(locks, { basePath: '/locks' });
  const response = await handler(new Request('http://localhost/locks'));
  strictEqual(response.status, 200);
  match(await response.text(), /<script>.{1000}/s);
}
await rejects(async () => dashboard({}), TypeError);
await locks.close();
await client.close();
