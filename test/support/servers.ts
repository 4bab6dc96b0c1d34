import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import type {} from 'vitest';
import type { TestProject } from 'vitest/node';

import { connectOrStart } from '../../lab/mongo-server/connect-or-start.js';
import { startReplicaSet } from '../../lab/mongo-server/start.js';
import type { MongoServer } from '../../lab/mongo-server/start.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A replica set shared by all test files: `inject('mongoUri')`. */
    mongoUri: string;
    /** Where a test file borrows a replica set that no other file uses meanwhile; see `useOwnServer`. */
    ownServers: string;
  }
}

/** Room for some documents of 16 MB. */
const OWN_CACHE_GB = 1;

/** The servers of a run: one for all files, and those that files borrow for themselves; see `useOwnServer`. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const shared = await connectOrStart();
  const own = new Map<string, MongoServer>();
  const free: string[] = [];
  const starting = new Set<Promise<MongoServer>>();
  const borrowed = async (): Promise<string> => {
    // A server stays for later files: a start takes more than a second of processor time.
    const returned = free.pop();
    if (returned !== undefined) return returned;
    const start = startReplicaSet({ cacheGb: OWN_CACHE_GB, say: () => undefined });
    starting.add(start);
    const server = await start;
    own.set(server.uri, server);
    return server.uri;
  };
  const desk = await answering(async (path) => {
    if (path === '/borrow') return await borrowed();
    const uri = decodeURIComponent(path.slice('/return/'.length));
    if (!own.has(uri) || free.includes(uri)) throw new Error(`not borrowed: ${uri}`);
    free.push(uri);
    return '';
  });
  project.provide('mongoUri', shared.uri);
  project.provide('ownServers', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    const started = await Promise.allSettled(starting);
    const servers = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    await Promise.all([shared, ...servers].map((server) => server.stop()));
  };
}

/** Answers each request with the text for its path, or with the error of it. */
async function answering(text: (path: string) => Promise<string>): Promise<Server> {
  const desk = createServer((request, response) => {
    text(request.url ?? '').then(
      (found) => response.end(found),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  return desk;
}
