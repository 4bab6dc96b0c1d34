import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { MongoClientOptions } from 'mongodb';
import { connectOrStart } from '../lab/mongo-server/connect-or-start.js';
import type { MongoServer } from '../lab/mongo-server/start.js';
import type { Members } from './findings.js';
import { processorMsOf } from './processor-time.js';

/** A server to measure on, a database of its own, and connections that are closed in the end. */
export class Workbench implements AsyncDisposable {
  readonly dbName = `leasehold_benchmark_${randomBytes(6).toString('hex')}`;
  readonly #server: MongoServer;
  readonly #clients: MongoClient[] = [];
  readonly #observer: MongoClient;

  private constructor(server: MongoServer) {
    this.#server = server;
    this.#observer = this.client();
  }

  /** Uses the server of MONGODB_URI, or starts a replica set with this number of members. */
  static async open(members: Members): Promise<Workbench> {
    return new Workbench(await connectOrStart({ members }));
  }

  get uri(): string {
    return this.#server.uri;
  }

  /** A description for people. */
  get server(): string {
    return this.#server.description;
  }

  client(options: MongoClientOptions = {}): MongoClient {
    const client = new MongoClient(this.uri, options);
    this.#clients.push(client);
    return client;
  }

  /** Processor time that the server has used so far; `undefined` if it runs elsewhere or not on Linux. */
  get serverMs(): number | undefined {
    const each = this.#server.members.map(({ pid }) => processorMsOf(pid));
    if (each.length === 0 || each.includes(undefined)) return undefined;
    return each.reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
  }

  /** Processor time that the server uses during this work; NaN if it is not known. */
  async serverMsDuring(work: () => Promise<unknown>): Promise<number> {
    const before = this.serverMs;
    await work();
    return (this.serverMs ?? NaN) - (before ?? NaN);
  }

  /** The number of open change streams; `undefined` if the server does not list them for this user. */
  async countStreams(): Promise<number | undefined> {
    const cursors = this.#observer
      .db('admin')
      .aggregate([
        { $currentOp: { idleCursors: true, allUsers: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
        { $group: { _id: '$cursor.cursorId' } },
      ]);
    return await cursors.toArray().then(
      (found) => found.length,
      () => undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#observer.db(this.dbName).dropDatabase();
      await Promise.all(this.#clients.map((client) => client.close()));
    } finally {
      await this.#server.stop();
    }
  }
}
