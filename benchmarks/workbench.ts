import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { MongoClientOptions } from 'mongodb';
import { connectOrStart } from '../test/support/mongo-server/connect-or-start.js';
import type { MongoServer } from '../test/support/mongo-server/start.js';
import type { Members } from './scenario.js';
import { ServerLoad } from './server-load.js';

/** A server to measure on, a database of its own, and connections that are closed in the end. */
export class Workbench implements AsyncDisposable {
  readonly dbName = `leasehold_benchmark_${randomBytes(6).toString('hex')}`;
  readonly load: ServerLoad;
  readonly #server: MongoServer;
  readonly #clients: MongoClient[] = [];

  private constructor(server: MongoServer) {
    this.#server = server;
    this.load = new ServerLoad(
      this.client(),
      server.members.map(({ pid }) => pid),
    );
  }

  /** On the server of MONGODB_URI, else on a replica set of so many members. */
  static async open(members: Members): Promise<Workbench> {
    return new Workbench(await connectOrStart({ members }));
  }

  get uri(): string {
    return this.#server.uri;
  }

  /** In words for people. */
  get server(): string {
    return this.#server.description;
  }

  client(options: MongoClientOptions = {}): MongoClient {
    const client = new MongoClient(this.uri, options);
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.client().db(this.dbName).dropDatabase();
      await Promise.all(this.#clients.map((client) => client.close()));
    } finally {
      await this.#server.stop();
    }
  }
}
