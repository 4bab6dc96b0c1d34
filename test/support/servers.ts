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
    /** Where a worker asks for a replica set that no other worker uses; see `useOwnServer`. */
    ownServers: string;
  }
}

/** The servers of a run: one for all files, and one for each worker whose files set fail points. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const shared = await connectOrStart();
  const own = new Map<string, Promise<MongoServer>>();
  const desk = await answering(async (worker) => {
    // It stays for the later files of this worker: a start takes more than a second of processor time.
    const server = own.get(worker) ?? startReplicaSet({ say: () => undefined });
    own.set(worker, server);
    return (await server).uri;
  });
  project.provide('mongoUri', shared.uri);
  project.provide('ownServers', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    const started = await Promise.allSettled(own.values());
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
