import { deepStrictEqual, strictEqual } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const uri = process.env.MONGODB_URI ?? '';
const client = new MongoClient(uri);
const locks = new LockProvider(client.db('app'));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function until(what, isSo) {
  const boundMs = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > boundMs) throw new Error(`not within a minute: ${what}`);
    await sleep(20);
  }
}

/** Starts a command of Next.js, which ends with this process at the latest. */
function next(...args) {
  const variables = { NEXT_TELEMETRY_DISABLED: '1', NEXT_MANUAL_SIG_HANDLE: 'true' };
  const child = spawn(process.execPath, ['node_modules/next/dist/bin/next', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...variables },
  });
  process.once('exit', () => child.kill('SIGKILL'));
  return { child, exited: once(child, 'exit') };
}

async function start() {
  const port = await freePort();
  const { child, exited } = next('start', '--hostname', '127.0.0.1', '--port', String(port));
  const post = (number, options) =>
    fetch(`http://127.0.0.1:${port}/invoices/${number}/charge`, { method: 'POST', ...options });
  await until('the server answers', async () => (await post('first').catch(() => null))?.status === 200);
  await until('the server leads', async () => (await locks.inspect('nightly'))?.holders.length === 1);
  return { child, exited, post };
}

const held = async (name) => ((await locks.inspect(name))?.holders.length ?? 0) > 0;
const waiters = async (name) => (await locks.inspect(name))?.waiters.length ?? 0;

deepStrictEqual(await next('build').exited, [0, null]);
const { child, exited, post } = await start();
const answers = await Promise.all([1, 2, 3, 4].map(() => post('42')));
deepStrictEqual(
  answers.map(({ status }) => status),
  [200, 200, 200, 200],
);

const hold = await locks.acquireMutex('invoice:42');
strictEqual((await post('42')).status, 409);
const leaving = new AbortController();
const left = post('42', { signal: leaving.signal });
left.catch(() => undefined);
await until('the request waits', async () => (await waiters('invoice:42')) === 1);
leaving.abort();
await until('the request has left the queue', async () => (await waiters('invoice:42')) === 0);
await hold.release();

const slow = post('slow');
await until('the request has its lock', () => held('invoice:slow'));
child.kill('SIGTERM');
strictEqual((await slow).status, 200);
deepStrictEqual(await exited, [0, null]);
deepStrictEqual([await held('invoice:slow'), await held('nightly')], [false, false]);

await locks.close();
await client.db('app').dropDatabase();
await client.close();
console.log('Next.js 16: a route under a lock, 409 for a busy one, a client that hangs up, a shutdown');
