import { MongoClient } from 'mongodb';
import type { ChangeStream, Collection, MongoClientOptions } from 'mongodb';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomName } from '../support/test-provider.js';
import {
  BUSY_MACHINE_MS,
  eventually,
  later,
  pause,
  rejection,
  staysOpen,
  within,
} from '../../lab/patience.js';
import { startFaultProxy } from '../../lab/cluster/fault-proxy.js';
import type { FaultProxy } from '../../lab/cluster/fault-proxy.js';
import type { Request } from '../../lab/cluster/wire-traffic.js';

interface Note {
  readonly _id: string;
}

const database = randomName('leasehold-proxy');
const serverPort = Number(new URL(inject('mongoUri')).port);
const open: MongoClient[] = [];
const streams: ChangeStream<Note>[] = [];
let proxy: FaultProxy;
let beside: MongoClient;
let past: Collection<Note>;

beforeEach(async () => {
  proxy = await startFaultProxy(serverPort);
  beside = connect(serverPort);
  past = notesOf(beside);
});

afterEach(async () => {
  proxy.heal();
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
  await beside.db(database).dropDatabase();
  await Promise.all(open.splice(0).map((client) => client.close()));
  await proxy.close();
});

function connect(port: number, options: MongoClientOptions = {}): MongoClient {
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const client = new MongoClient(uri, { retryWrites: false, retryReads: false, ...options });
  open.push(client);
  return client;
}

const notesOf = (client: MongoClient): Collection<Note> => client.db(database).collection<Note>('notes');

const isInsert = ({ command, database: name, body }: Request): boolean =>
  command === 'insert' && name === database && body['insert'] === 'notes';

/** The errors of several driver versions for a broken connection, or for one that took too long. */
const BROKEN = /ECONNRESET|connection .* (closed|timed out)/i;

const isStored = async (_id: string): Promise<boolean> => (await past.findOne({ _id })) !== null;

describe('a proxy without faults', () => {
  it('passes on all messages, even large ones, and keeps no connection that its client has closed', async () => {
    const client = connect(proxy.port);
    const large = client.db(database).collection('large');
    const pieces = Array.from({ length: 12 }, (_, index) => ({ index, filling: 'x'.repeat(1_000_000) }));
    await Promise.all(pieces.map((piece) => large.insertOne(piece)));
    const read = await large.find({}, { batchSize: 12, sort: { index: 1 } }).toArray();
    expect(read.map(({ filling }) => String(filling).length)).toEqual(pieces.map(() => 1_000_000));
    expect(proxy.connections.clients).toBeGreaterThan(1);
    expect(proxy.connections.members).toBe(0);
    await client.close();
    await eventually('all connections are closed', () => proxy.connections.clients === 0);
  });

  it('closes the connection of a client when the server is down', async () => {
    const lonely = await startFaultProxy(1);
    const ping = connect(lonely.port, { serverSelectionTimeoutMS: 5_000 }).db().command({ ping: 1 });
    expect(String(await rejection(ping))).toContain('closed');
    await eventually('no connection is left', () => lonely.connections.clients === 0);
    await lonely.close();
  });
});

describe('a lost reply', () => {
  it('leaves the write stored although the connection of the client fails', async () => {
    const notes = notesOf(connect(proxy.port));
    await notes.insertOne({ _id: 'before' });
    const dropping = proxy.dropReplies(1, isInsert);
    expect(String(await rejection(notes.insertOne({ _id: 'lost' })))).toMatch(BROKEN);
    expect(dropping.dropped).toBe(1);
    expect(await isStored('lost')).toBe(true);
    await notes.insertOne({ _id: 'after' });
    expect(dropping.dropped).toBe(1);
  });

  it('does not happen to other requests, nor after the fault was cancelled', async () => {
    const notes = notesOf(connect(proxy.port));
    const dropping = proxy.dropReplies(5, isInsert);
    expect(await notes.findOne({ _id: 'none' })).toBeNull();
    dropping.cancel();
    await notes.insertOne({ _id: 'kept' });
    expect(dropping.dropped).toBe(0);
  });
});

describe('a held request', () => {
  it('reaches the server when it is delivered, long after its client has closed the connection', async () => {
    const notes = notesOf(connect(proxy.port, { socketTimeoutMS: 5_000 }));
    const holding = proxy.holdRequests(1, isInsert);
    expect(String(await rejection(notes.insertOne({ _id: 'late' })))).toMatch(BROKEN);
    expect(holding.held).toBe(1);
    // A request of the same client on another connection overtakes it.
    await notes.insertOne({ _id: 'overtaker' });
    expect(await isStored('late')).toBe(false);
    expect(await holding.deliver()).toBe(1);
    expect(await isStored('late')).toBe(true);
    expect(holding.held).toBe(0);
  });

  it('is answered to a client that still waits', async () => {
    const notes = notesOf(connect(proxy.port));
    const holding = proxy.holdRequests(1, isInsert);
    const insert = later(notes.insertOne({ _id: 'patient' }));
    await eventually('it is held', () => holding.held === 1);
    expect(await staysOpen(insert, 100)).toBe(true);
    expect(await holding.deliver()).toBe(1);
    expect(await insert).toMatchObject({ insertedId: 'patient' });
  });

  it('is dropped by healing, and its connection is closed', async () => {
    const notes = notesOf(connect(proxy.port));
    const holding = proxy.holdRequests(1, isInsert);
    const insert = later(notes.insertOne({ _id: 'never' }));
    await eventually('it is held', () => holding.held === 1);
    proxy.heal();
    expect(String(await rejection(insert))).toMatch(BROKEN);
    expect(await holding.deliver()).toBe(0);
    expect(await isStored('never')).toBe(false);
  });
});

describe('a freeze', () => {
  it('keeps requests from the server until healing', async () => {
    const notes = notesOf(connect(proxy.port));
    await notes.insertOne({ _id: 'before' });
    proxy.freeze('clients', 'requests');
    const insert = later(notes.insertOne({ _id: 'frozen' }));
    expect(await staysOpen(insert, 200)).toBe(true);
    expect(await isStored('frozen')).toBe(false);
    proxy.heal();
    expect(await insert).toMatchObject({ insertedId: 'frozen' });
  });

  it('keeps replies from the client, but the server executes the request', async () => {
    const notes = notesOf(connect(proxy.port));
    await notes.insertOne({ _id: 'before' });
    proxy.freeze('clients', 'replies');
    const insert = later(notes.insertOne({ _id: 'done' }));
    await eventually('it is stored', () => isStored('done'));
    expect(await staysOpen(insert, 100)).toBe(true);
    proxy.heal();
    expect(await insert).toMatchObject({ insertedId: 'done' });
  });

  it('hides a closed connection of a client from the server, which gets its request at healing', async () => {
    const notes = notesOf(connect(proxy.port, { socketTimeoutMS: 5_000 }));
    await notes.insertOne({ _id: 'before' });
    proxy.freeze('all');
    expect(String(await rejection(notes.insertOne({ _id: 'late' })))).toMatch(BROKEN);
    expect(await isStored('late')).toBe(false);
    proxy.heal();
    await eventually('it is stored', () => isStored('late'));
  });
});

describe('a cut', () => {
  it('closes open connections and refuses new ones until healing', async () => {
    const notes = notesOf(connect(proxy.port, { serverSelectionTimeoutMS: 500 }));
    await notes.insertOne({ _id: 'before' });
    proxy.cut('clients');
    await eventually('all connections are closed', () => proxy.connections.clients === 0);
    await rejection(notes.insertOne({ _id: 'refused' }));
    proxy.heal();
    await eventually('the client is back', () =>
      notes.insertOne({ _id: 'after' }).then(
        () => true,
        () => false,
      ),
    );
    expect(await isStored('refused')).toBe(false);
  });
});

describe('a stream fault', () => {
  interface Watching {
    readonly notes: Collection<Note>;
    readonly seen: string[];
    readonly errors: Error[];
  }

  async function watch(): Promise<Watching> {
    const client = connect(proxy.port);
    const notes = notesOf(client);
    const seen: string[] = [];
    const errors: Error[] = [];
    const stream = notes.watch();
    streams.push(stream);
    stream.on('error', (error: Error) => errors.push(error));
    stream.on('change', (change) => {
      if (change.operationType === 'insert') seen.push(change.documentKey._id);
    });
    // The stream is open once it has shown a change.
    await eventually('the stream shows a change', async () => {
      await past.insertOne({ _id: randomName('opening') });
      await pause(50);
      return seen.length > 0;
    });
    return { notes, seen, errors };
  }

  it('can close the connection of the stream and no other', async () => {
    const { seen, errors } = await watch();
    const before = proxy.connections.clients;
    expect(proxy.cutStreams()).toBe(1);
    expect(proxy.connections.clients).toBe(before - 1);
    await past.insertOne({ _id: 'after the cut' });
    // Driver 6.10 does not resume a stream whose connection was reset.
    await eventually('the driver has resumed the stream, or says that it broke', () =>
      errors.length > 0 ? BROKEN.test(String(errors[0])) : seen.includes('after the cut'),
    );
  });

  it('can freeze the connection of the stream and no other', async () => {
    const { notes, seen } = await watch();
    proxy.freezeStreams();
    await within(BUSY_MACHINE_MS, 'the insert', notes.insertOne({ _id: 'unseen' }));
    await pause(300);
    expect(seen).not.toContain('unseen');
    proxy.heal();
    await eventually('the stream goes on', () => seen.includes('unseen'));
  });
});

it('a cut can concern one client and no other', async () => {
  const ping = async (client: MongoClient): Promise<unknown> => client.db(database).command({ ping: 1 });
  const one = connect(proxy.port, { driverInfo: { name: 'one' }, serverSelectionTimeoutMS: 300 });
  const other = connect(proxy.port, { driverInfo: { name: 'other' } });
  await Promise.all([ping(one), ping(other)]);
  proxy.cut({ driver: 'one' });
  await rejection(ping(one));
  await rejection(ping(one));
  await ping(other);
  proxy.heal();
  await eventually('it is let through again', () =>
    ping(one).then(
      () => true,
      () => false,
    ),
  );
});
