import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { eventually, pause } from '../../lab/patience.js';
import { randomFrom } from '../../lab/random.js';
import { startFaultProxy } from '../../lab/cluster/fault-proxy.js';
import type { FaultProxy } from '../../lab/cluster/fault-proxy.js';
import { MessageCutter, requestIdOf } from '../../lab/cluster/wire-message.js';

// A server that echoes everything: enough for tests of what arrives when.
let echo: Server;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await startFaultProxy((echo.address() as AddressInfo).port);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.close();
  echo.close();
});

let lastId = 0;

/** A message of OP_MSG with this body. */
function message(body: Document): Buffer {
  const document = BSON.serialize(body);
  const bytes = Buffer.alloc(21 + document.length);
  bytes.writeInt32LE(bytes.length, 0);
  bytes.writeInt32LE((lastId += 1), 4);
  bytes.writeInt32LE(2013, 12);
  bytes.set(document, 21);
  return bytes;
}

const ofMember = { hello: 1, internalClient: { minWireVersion: 0, maxWireVersion: 17 }, $db: 'admin' };
const ofClient = { hello: 1, client: { driver: { name: 'nodejs' } }, $db: 'admin' };

interface Caller {
  readonly socket: Socket;
  /** The ids of the messages that came back. */
  readonly echoed: number[];
  isClosed: boolean;
}

/** Connects, and sends the first message. */
async function call(hello: Document): Promise<Caller> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  sockets.push(socket);
  const caller: Caller = { socket, echoed: [], isClosed: false };
  const cutter = new MessageCutter();
  socket.on('data', (chunk) => {
    caller.echoed.push(...cutter.push(chunk).map(requestIdOf));
  });
  socket.on('error', () => undefined);
  socket.on('close', () => (caller.isClosed = true));
  await once(socket, 'connect');
  socket.write(message(hello));
  return caller;
}

it('the proxy tells the connections of members from those of clients', async () => {
  const [member, client] = [await call(ofMember), await call(ofClient)];
  await eventually('both are answered', () => member.echoed.length === 1 && client.echoed.length === 1);
  expect(proxy.connections).toEqual({ clients: 1, members: 1 });
  proxy.cut('members');
  await eventually('the member is cut off', () => member.isClosed);
  const another = await call(ofMember);
  await eventually('another is refused', () => another.isClosed);
  client.socket.write(message({ ping: 1 }));
  await eventually('the client is answered', () => client.echoed.length === 2);
  proxy.cut('clients');
  await eventually('the client is cut off', () => client.isClosed);
  proxy.heal();
  const third = await call(ofMember);
  await eventually('a member is let through again', () => third.echoed.length === 1);
});

it('the proxy can freeze members and leave clients alone', async () => {
  proxy.freeze('members');
  const [member, client] = [await call(ofMember), await call(ofClient)];
  await eventually('the client is answered', () => client.echoed.length === 1);
  await pause(100);
  expect(member).toMatchObject({ echoed: [], isClosed: false });
  proxy.heal();
  await eventually('the member is answered', () => member.echoed.length === 1);
});

it('the proxy hides from a client that the server has closed the connection while replies are frozen', async () => {
  const client = await call(ofClient);
  await eventually('it is answered', () => client.echoed.length === 1);
  proxy.freeze('clients', 'replies');
  client.socket.write(message({ ping: 1 }));
  client.socket.end();
  await pause(100);
  expect(client).toMatchObject({ isClosed: false, echoed: [expect.any(Number)] });
  proxy.heal();
  await eventually(
    'the client has all replies and is closed',
    () => client.isClosed && client.echoed.length === 2,
  );
});

it('the proxy keeps the order of delayed messages', async () => {
  const client = await call(ofClient);
  await eventually('it is answered', () => client.echoed.length === 1);
  const jitter = randomFrom(1);
  proxy.delay('clients', { latencyMs: 20, jitterMs: () => jitter.between(0, 60) });
  const startMs = performance.now();
  for (let left = 50; left > 0; left -= 1) {
    client.socket.write(message({ ping: 1 }));
    await pause(1);
  }
  await eventually('all are back', () => client.echoed.length === 51);
  expect(client.echoed).toEqual(client.echoed.toSorted((a, b) => a - b));
  // There and back.
  expect(performance.now() - startMs).toBeGreaterThan(40);
});

it('the proxy can limit the bytes per second', async () => {
  const client = await call(ofClient);
  await eventually('it is answered', () => client.echoed.length === 1);
  proxy.delay('clients', { latencyMs: 0, bytesPerSecond: 10_000 });
  const startMs = performance.now();
  for (let left = 4; left > 0; left -= 1)
    client.socket.write(message({ ping: 1, filling: 'x'.repeat(1_000) }));
  await eventually('all are back', () => client.echoed.length === 5);
  expect(performance.now() - startMs).toBeGreaterThan(400);
});

it('the proxy delivers delayed messages at once when it is healed', async () => {
  proxy.delay('all', { latencyMs: 60_000 });
  const client = await call(ofClient);
  await pause(50);
  expect(client.echoed).toEqual([]);
  proxy.heal();
  await eventually('it is answered', () => client.echoed.length === 1);
});

it('the proxy finds the messages in pieces of any size', () => {
  const messages = [message({ ping: 1 }), message({ filling: 'x'.repeat(500) }), message({ ping: 2 })];
  const bytes = Buffer.concat(messages);
  for (const pieceBytes of [1, 7, 16, 100, bytes.length]) {
    const cutter = new MessageCutter();
    const found: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      found.push(...cutter.push(bytes.subarray(at, at + pieceBytes)));
    }
    expect(found.map(requestIdOf)).toEqual(messages.map(requestIdOf));
    expect(Buffer.concat(found).equals(bytes)).toBe(true);
  }
});
