// The least that a live page of locks costs its process, with the bare driver.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Collection } from 'mongodb';
import { sleep } from '../measure.js';
import { connectedPlace, newClient } from './connections.js';

interface Stored {
  readonly _id: string;
}

/** As the dashboard: one read every half a second. In between, the server collects the changes. */
const [COLLECTED_MS, ARRIVING_MS] = [450, 50];

export const bareBoard = {
  /** Serves the documents of this collection that change, as text, to one reader. Returns the port. */
  async serveChanges(collectionName: string): Promise<number> {
    const { uri, dbName } = connectedPlace();
    const locks = newClient(uri).db(dbName).collection<Stored>(collectionName);
    const server = createServer((_, response) => void writeChanges(locks, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  },
};

/** Writes until the reader has gone. */
async function writeChanges(locks: Collection<Stored>, response: ServerResponse): Promise<void> {
  const changed = new Set<string>();
  const stream = locks.watch([{ $project: { documentKey: 1 } }]).stream();
  stream.on('data', ({ documentKey }: { readonly documentKey: Stored }) => changed.add(documentKey._id));
  // The client is closed in the end.
  stream.on('error', () => undefined);
  response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
  while (!response.destroyed && !stream.destroyed) {
    stream.pause();
    await sleep(COLLECTED_MS);
    stream.resume();
    await sleep(ARRIVING_MS);
    const names = [...changed];
    changed.clear();
    if (names.length === 0) continue;
    const found = await locks.find({ _id: { $in: names } }).toArray();
    response.write(`${JSON.stringify(found)}\n`);
  }
}
