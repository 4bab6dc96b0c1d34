import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { MongoClientOptions } from 'mongodb';
import { connectOrStart } from '../test/support/mongo-server/connect-or-start.js';

/** A server to measure on, a database of its own, and connections that are closed in the end. */
export class Workbench {
  readonly uri: string;
  readonly server: string;
  readonly dbName = `leasehold_benchmark_${randomBytes(6).toString('hex')}`;
  readonly #clients: MongoClient[] = [];

  private constructor(uri: string, server: string) {
    this.uri = uri;
    this.server = server;
  }

  /** Runs a scenario on the server of MONGODB_URI, else on a replica set of so many members; leaves nothing behind. */
  static async with(members: 1 | 3, run: (bench: Workbench) => Promise<void>): Promise<void> {
    await using server = await connectOrStart({ members });
    const bench = new Workbench(server.uri, server.description);
    try {
      await run(bench);
    } finally {
      await bench.#clear();
    }
  }

  client(options: MongoClientOptions = {}): MongoClient {
    const client = new MongoClient(this.uri, options);
    this.#clients.push(client);
    return client;
  }

  async #clear(): Promise<void> {
    await this.client().db(this.dbName).dropDatabase();
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}
