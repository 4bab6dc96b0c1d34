import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';

import { MongoClient } from 'mongodb';

/** Contends for one lock with both copies of the library, over one client, and checks that errors are recognised. */
export async function contend(first, second, name) {
  ok(first.LockProvider !== second.LockProvider, 'these are two copies');
  const client = new MongoClient(process.env.MONGODB_URI);
  const providers = [first, second].map((copy) => new copy.LockProvider(client.db('two-copies')));
  await excludeEachOther(providers, name);
  await recogniseErrors([first, second], providers, name);
  await fenceForEachOther([first, second], providers, client, name);
  await shareSignals(providers, name);
  await Promise.all(providers.map((provider) => provider.close()));
  for (const event of ['topologyDescriptionChanged', 'topologyClosed']) {
    strictEqual(client.listenerCount(event), 0, `no listener for ${event} is left`);
  }
  await client.close();
}

async function excludeEachOther(providers, name) {
  let inside = 0;
  const tokens = [];
  const work = async ({ fencingToken }) => {
    inside += 1;
    strictEqual(inside, 1, 'one holder at a time');
    tokens.push(fencingToken);
    await new Promise((resolve) => setTimeout(resolve, 2));
    inside -= 1;
  };
  const calls = Array.from({ length: 40 }, (_, index) => providers[index % 2].useMutex(name, work));
  await Promise.all(calls);
  strictEqual(tokens.length, 40);
  deepStrictEqual(
    tokens,
    [...new Set(tokens)].sort((a, b) => a - b),
    'tokens rise',
  );
}

async function recogniseErrors([first, second], [one, other], name) {
  const lock = await one.acquireMutex(name);
  const error = await other.acquireMutex(name, { timeoutMs: 50 }).then(
    () => undefined,
    (reason) => reason,
  );
  await lock.release();
  ok(error instanceof second.AcquireTimeoutError, 'an error is one of its own copy');
  ok(error instanceof first.AcquireTimeoutError, 'and one of the other copy');
  ok(error instanceof first.LeaseholdError);
  ok(!(error instanceof first.LockLostError), 'but of no other class');
  class OwnError extends first.AcquireTimeoutError {}
  ok(!(error instanceof OwnError), 'nor of a class that an application derives');
  ok(!(new Error('other') instanceof first.LeaseholdError));
}

async function fenceForEachOther([first, second], [one, other], client, name) {
  const documents = client.db('two-copies').collection('fenced');
  const [old] = [await one.acquireMutex(name)];
  await old.release();
  const lock = await other.acquireMutex(name);
  await first.fencedUpdateOne(documents, { _id: name }, { $set: { by: 'new' } }, lock, { upsert: true });
  await rejects(
    second.fencedUpdateOne(documents, { _id: name }, { $set: { by: 'old' } }, old),
    (error) => error instanceof first.StaleTokenError,
  );
  await lock.release();
}

async function shareSignals([one, other], name) {
  const lock = await one.acquireMutex(`${name}:outer`);
  const held = await one.acquireMutex(name);
  const waiting = other.acquireMutex(name, { signal: lock.signal });
  const closing = new AbortController();
  const aborted = other.acquireMutex(name, { signal: closing.signal });
  closing.abort(new Error('enough'));
  await rejects(aborted, /enough/);
  await held.release();
  await (await waiting).release();
  await lock.release();
}
