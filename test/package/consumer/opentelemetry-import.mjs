import { deepStrictEqual, strictEqual } from 'node:assert';
import { LockProvider } from 'leasehold';
import { instrument } from 'leasehold/opentelemetry';
import { MongoClient } from 'mongodb';

const names = [];
const ignored = () => undefined;
const span = {
  spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }),
  ...{ setAttributes: ignored, setAttribute: ignored, setStatus: ignored, addLink: ignored },
  ...{ updateName: (name) => names.push(name), end: ignored, recordException: ignored },
};
const startSpan = (name) => {
  names.push(name);
  return span;
};

const client = new MongoClient(process.env.MONGODB_URI);
const locks = new LockProvider(client.db('pack'));
const stop = instrument(locks, { tracerProvider: { getTracer: () => ({ startSpan }) } });
const lock = await locks.acquireMutex('opentelemetry-import');
strictEqual(await lock.release(), true);
deepStrictEqual(names, ['leasehold.acquire', 'leasehold.acquire', 'leasehold.hold']);
await locks.close();
stop();
await client.close();
