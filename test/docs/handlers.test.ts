import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { MemorySurroundings } from './memory-run.js';
import { codeBlocks, page } from './pages.js';
import type { CodeBlock } from './pages.js';

function blockWith(path: string, text: string): CodeBlock {
  const found = codeBlocks(page(path), 'ts').find(({ code }) => code.includes(text));
  if (found === undefined) throw new Error(`${path} has no block with ${text}`);
  return found;
}

test('the handler of docs/using-with/lambda.md charges, and answers 409 when the time that is left is too short to wait', async () => {
  await using surroundings = new MemorySurroundings();
  const { exports } = await surroundings.run(blockWith('docs/using-with/lambda.md', 'export const handler'));
  type Handler = (event: object, context: object) => Promise<{ statusCode: number }>;
  const handler = exports['handler'] as Handler;
  const call = (leftMs: number): Promise<{ statusCode: number }> =>
    handler({ invoice: '42' }, { getRemainingTimeInMillis: () => leftMs, awsRequestId: 'r' });

  expect(await call(10_000)).toEqual({ statusCode: 200 });
  const lock = await surroundings.locks.acquireMutex('invoice:42');
  expect(await call(3_050)).toEqual({ statusCode: 409 });
  await lock.release();
  expect(await call(10_000)).toEqual({ statusCode: 200 });
});

test('the route handler of docs/using-with/nextjs.md charges, and stops waiting when the client hangs up', async () => {
  await using surroundings = new MemorySurroundings();
  const { exports } = await surroundings.run(
    blockWith('docs/using-with/nextjs.md', 'export async function POST'),
    { lockProvider: () => surroundings.locks },
  );
  const post = exports['POST'] as (request: Request, context: object) => Promise<Response>;
  const charge = (signal?: AbortSignal): Promise<Response> =>
    post(new Request('https://shop.example', { method: 'POST', signal: signal ?? null }), {
      params: Promise.resolve({ number: '42' }),
    });

  expect(await (await charge()).json()).toEqual({ charged: '42' });
  const lock = await surroundings.locks.acquireMutex('invoice:42');
  const client = new AbortController();
  const charging = charge(client.signal);
  const waiters = async (): Promise<number | undefined> =>
    (await surroundings.locks.inspect('invoice:42'))?.waiters.length;
  await eventually('it waits', async () => (await waiters()) === 1);
  client.abort(new Error('gone'));
  await expect(charging).rejects.toThrow('gone');
  await eventually('nobody waits', async () => (await waiters()) === 0);
  await lock.release();
});

test('the server of docs/dashboard.md shows the page to those who may see it, and its events', async () => {
  await using surroundings = new MemorySurroundings();
  const servers: Server[] = [];
  const createServerHere = (answer: RequestListener): { listen: (port: number, host: string) => void } => ({
    listen: (_, host) => void servers.push(createServer(answer).listen(0, host)),
  });
  const example = blockWith('docs/dashboard.md', 'createServer');
  const code = example.code.replace("import { createServer } from 'node:http';", '');
  await surroundings.run(
    { ...example, code },
    { createServer: createServerHere, process: { env: { ADMIN_TOKEN: 'right' } } },
  );
  const [server] = servers;
  if (server === undefined) throw new Error('the example has made no server');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const get = (path: string, token: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}?token=${token}`);
  expect((await get('/admin/locks', 'wrong')).status).toBe(403);
  expect(await (await get('/admin/locks', 'right')).text()).toContain('<!doctype html>');
  const events = await get('/admin/locks/events', 'right');
  const reader = (events.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('"state":"connecting"');
  await reader.cancel();
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
});
