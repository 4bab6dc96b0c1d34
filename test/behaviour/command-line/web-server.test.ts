import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import { startWebServer } from '../../../src/cli/web-server.js';
import type { WebServer } from '../../../src/cli/web-server.js';
import { eventually } from '../../../lab/patience.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';

const serving = async (handler: (request: Request) => Promise<Response>): Promise<WebServer> =>
  untilTestEnds(await startWebServer({ host: '127.0.0.1', port: 0 }, handler));

/** Answers with the number of bytes of the body. */
const measuring = (): Promise<WebServer> =>
  serving(async (request) => new Response(String((await request.arrayBuffer()).byteLength)));

/** Sends these bytes, and returns the first line of the answer when the server has closed the connection. */
async function firstLineAfter({ url }: WebServer, sent: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.end(sent);
  await once(socket, 'close');
  return received.split('\r\n')[0] ?? '';
}

const post = async ({ url }: WebServer, body: string | ReadableStream): Promise<Response> =>
  await fetch(url, { method: 'POST', body, duplex: 'half' });

describe('a server of web-standard requests', () => {
  it('gives the handler a body of 64 KiB, and answers a larger one with 413', async () => {
    const server = await measuring();
    expect(await (await post(server, 'x'.repeat(65_536))).text()).toBe('65536');
    for (const bytes of [65_537, 900_000]) {
      const { status, headers } = await post(server, 'x'.repeat(bytes));
      expect([bytes, status, headers.get('connection')]).toEqual([bytes, 413, 'close']);
    }
    const parts = new Blob(['x'.repeat(70_000), 'x'.repeat(70_000)]).stream();
    expect((await post(server, parts)).status).toBe(413);
  });

  it('ends the connection of a body that is longer than it reads', async () => {
    const server = await measuring();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000000\r\n\r\n');
    const sending = setInterval(() => socket.write('x'.repeat(100_000)), 1);
    socket.resume();
    // `once` would reject: a write after the end of the connection is an error.
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(sending);
    expect(socket.bytesWritten).toBeLessThan(100_000_000);
  });

  it.each([403, 404, 500])('closes the connection after an answer of %d', async (status) => {
    const server = await serving(() => Promise.resolve(new Response('no', { status })));
    const { headers } = await fetch(server.url);
    expect(headers.get('connection')).toBe('close');
  });

  it('closes the connection after an error of the handler', async () => {
    const server = await serving(() => Promise.reject(new Error('broken')));
    const { status, headers } = await fetch(server.url);
    expect([status, headers.get('connection')]).toEqual([500, 'close']);
  });

  it('has at most 50 connections from one address, and has room again when one is closed', async () => {
    // The answers do not end, so no connection is idle, and the server closes none of them.
    const server = await serving(() =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            start: (body) => {
              body.enqueue(new Uint8Array(1));
            },
          }),
        ),
      ),
    );
    const { hostname, port } = new URL(server.url);
    const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
    /** Resolves with whether the server answers on a new connection, which then stays open. */
    const isServed = (localAddress: string): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect({ port: Number(port), host: hostname, localAddress });
        whenTestEnds(() => socket.destroy());
        sockets.push(socket);
        socket
          .once('data', () => {
            resolve(true);
          })
          .on('error', () => {
            resolve(false);
          });
        socket
          .once('close', () => {
            resolve(false);
          })
          .write(request);
      });
    const sockets: Socket[] = [];
    const first = Array.from({ length: 50 }, () => isServed('127.0.0.1'));
    expect(await Promise.all(first)).not.toContain(false);
    expect(await isServed('127.0.0.1')).toBe(false);
    // Other systems have no second address by themselves.
    if (process.platform === 'linux') expect(await isServed('127.0.0.2')).toBe(true);
    sockets[0]?.destroy();
    await eventually('there is room again', () => isServed('127.0.0.1'));
  });

  it.each([
    'TRACE / HTTP/1.1\r\nhost: x',
    'GET / HTTP/1.1\r\nhost: ',
    'GET / HTTP/1.1\r\nhost: user@x',
    'GET / HTTP/1.1\r\nhost: x/y',
    'GET / HTTP/1.1\r\nhost: x?y',
    'GET / HTTP/1.1\r\nhost: x:99999',
    'GET / HTTP/1.1\r\nhost: a b',
    'GET http://x/ HTTP/1.1\r\nhost: x',
  ])('answers %j with 400', async (head) => {
    const line = await firstLineAfter(await measuring(), `${head}\r\nconnection: close\r\n\r\n`);
    expect(line).toBe('HTTP/1.1 400 Bad Request');
  });

  it('sends no faster than the client reads, and cancels the body when the client leaves', async () => {
    let made = 0;
    let isCancelled = false;
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', onWarning);
    const server = await serving(() => {
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        made += 1;
        controller.enqueue(new Uint8Array(100_000));
      };
      const cancel = (): void => void (isCancelled = true);
      return Promise.resolve(new Response(new ReadableStream({ pull, cancel })));
    });
    const { body } = await fetch(server.url);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let read = 0;
    while (read < 20_000_000) read += (await reader.read()).value?.length ?? 0;
    expect(made).toBeLessThan(400);
    await reader.cancel();
    await eventually('the body is cancelled', () => isCancelled);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});
