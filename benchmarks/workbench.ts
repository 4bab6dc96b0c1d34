import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { MongoClientOptions } from 'mongodb';
import { LockProvider } from '../src/index.js';
import type { LockProviderOptions } from '../src/index.js';
import { connectOrStart } from '../lab/mongo-server/connect-or-start.js';
import type { MongoServer } from '../lab/mongo-server/start.js';
import type { Members } from './findings.js';
import { WRITE_CONCERN } from './floor.js';
import type { Place } from './processes/connections.js';
import { processorMsOf } from './processor-time.js';
import { sum } from '../lab/statistics.js';

/** A server to measure on, a database of its own, and connections that are closed in the end. */
export class Workbench implements AsyncDisposable {
  readonly place: Place;
  /** A description for people. */
  readonly server: string;
  readonly #mongo: MongoServer;
  readonly #clients: MongoClient[] = [];
  readonly #observer: MongoClient;

  private constructor(mongo: MongoServer) {
    this.place = { uri: mongo.uri, dbName: `leasehold_benchmark_${randomBytes(6).toString('hex')}` };
    this.server = mongo.description;
    this.#mongo = mongo;
    this.#observer = this.client();
  }

  /** Uses the server of MONGODB_URI, or starts a replica set with this number of members. */
  static async open(members: Members): Promise<Workbench> {
    return new Workbench(await connectOrStart({ members }));
  }

  client(options: MongoClientOptions = {}): MongoClient {
    const client = new MongoClient(this.place.uri, options);
    this.#clients.push(client);
    return client;
  }

  /** A provider with a client of its own. */
  provider(options: LockProviderOptions = {}): LockProvider {
    return new LockProvider(this.client().db(this.place.dbName), options);
  }

  /** A provider and the names of the commands that it sends. Monitoring commands costs time, so others do without. */
  monitoredProvider(): { readonly locks: LockProvider; readonly commands: string[] } {
    const client = this.client({ monitorCommands: true });
    const commands: string[] = [];
    client.on('commandStarted', ({ commandName }) => commands.push(commandName));
    return { locks: new LockProvider(client.db(this.place.dbName)), commands };
  }

  /** The least that an acquire or a release can cost: one write of a small document, with the driver's defaults. */
  async bareWrite(): Promise<() => Promise<unknown>> {
    const counters = this.client().db(this.place.dbName).collection('floor');
    const { insertedId: _id } = await counters.insertOne({ n: 0 });
    const options = { writeConcern: WRITE_CONCERN };
    return () => counters.findOneAndUpdate({ _id }, { $inc: { n: 1 } }, options);
  }

  /** The processes of the server; none if it runs elsewhere. */
  get serverPids(): readonly number[] {
    return this.#mongo.members.map(({ pid }) => pid);
  }

  /** Processor time that the server has used so far; NaN if it runs elsewhere or not on Linux. */
  serverMs(): number {
    const pids = this.serverPids;
    return pids.length === 0 ? NaN : sum(pids.map(processorMsOf));
  }

  /** The number of open change streams; NaN if the server does not list them for this user. */
  async countStreams(): Promise<number> {
    const cursors = this.#observer
      .db('admin')
      .aggregate([
        { $currentOp: { idleCursors: true, allUsers: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
        { $group: { _id: '$cursor.cursorId' } },
      ]);
    const found = await cursors.toArray().catch(() => undefined);
    return found?.length ?? NaN;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#observer.db(this.place.dbName).dropDatabase();
      await Promise.all(this.#clients.map((client) => client.close()));
    } finally {
      await this.#mongo.stop();
    }
  }
}
