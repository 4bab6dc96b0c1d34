import type { Db, MongoClient } from 'mongodb';

import type { LockProvider } from '../index.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { rejectedBy } from './interruption.js';
import { Output } from './output.js';
import type { OutputOptions } from './output.js';

/** The options of every command. */
export interface CommonOptions extends OutputOptions {
  readonly db?: string | undefined;
  readonly collection: string;
}

/** The longest time for connecting, in ms. If no server answers, a command ends with the exit code 69 within 20 s. */
const CONNECT_MS = 10_000;

/**
 * A command always has at least this time for connecting, in ms, even if its own time is shorter. A healthy server
 * needs no longer.
 */
const LEAST_CONNECT_MS = 1_000;

/** How much later than the driver the command gives up, in ms: the error of the driver says more. */
const GRACE_MS = 1_000;

/** How long a command to the server may go without an answer, in ms. The library has shorter bounds of its own. */
const SOCKET_MS = 30_000;

/**
 * How long the provider may take to give back its seats and places, in ms. After a signal has ended a request, the
 * provider gives back the place of the request in the background, and `close` waits until the place is given back.
 */
const DRAIN_MS = 3_000;

/** The longest wait for the close of the provider, and again for the close of the client, in ms. */
const CLOSE_MS = 5_000;

/** A connected client with one provider. Its disposal closes both. */
export interface Session extends AsyncDisposable {
  readonly client: MongoClient;
  readonly db: Db;
  readonly collectionName: string;
  readonly locks: LockProvider;
  readonly output: Output;
  /** Makes a client for one member of the replica set, with the credentials and the TLS options of `client`. */
  readonly clientOf: (host: string, boundMs: number) => MongoClient;
}

export interface SessionOptions {
  /** Shown to other processes beside the process id. */
  readonly label: string;
  /** The time for connecting, in ms, between `LEAST_CONNECT_MS` and `CONNECT_MS`. Default: `CONNECT_MS`. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait for a connection. */
  readonly signal?: AbortSignal | undefined;
}

export async function openSession(options: CommonOptions, how: SessionOptions): Promise<Session> {
  const output = new Output(options);
  const { uri = '' } = options;
  if (uri === '') {
    throw new CommandFailure(
      EXIT.configuration,
      'no server is named: give --uri, or set LEASEHOLD_URI or MONGODB_URI',
    );
  }
  const [{ MongoClient: Client }, { LockProvider: Provider }] = await Promise.all([
    loadDriver(),
    import('../index.js'),
  ]);
  const boundMs = Math.min(CONNECT_MS, Math.max(LEAST_CONNECT_MS, how.timeoutMs ?? CONNECT_MS));
  const client = new Client(uri, {
    serverSelectionTimeoutMS: boundMs,
    connectTimeoutMS: CONNECT_MS,
    socketTimeoutMS: SOCKET_MS,
  });
  try {
    const name = databaseName(options.db, uri);
    const db = client.db(name);
    const { collection: collectionName } = options;
    const locks = new Provider(db, { collectionName, label: how.label });
    await connectWithin(client, boundMs + GRACE_MS, how.signal);
    const dispose = async (): Promise<void> => {
      await within(CLOSE_MS, locks.close({ drainMs: DRAIN_MS }));
      await within(CLOSE_MS, client.close());
    };
    const { credentials } = client.options;
    const clientOf = (host: string, ms: number): MongoClient =>
      new Client(uriOf(uri, host), {
        serverSelectionTimeoutMS: ms,
        connectTimeoutMS: ms,
        socketTimeoutMS: ms,
        // A URI with +srv switches TLS on, and may take `authSource` from DNS. The new URI is without +srv, so both
        // options are set here.
        tls: client.options.tls,
        ...(credentials === undefined ? {} : { authSource: credentials.source }),
        directConnection: true,
      });
    return { client, db, collectionName, locks, output, clientOf, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await within(CLOSE_MS, client.close());
    throw error;
  }
}

/** The connection string with one host instead of all hosts. */
const uriOf = (uri: string, host: string): string =>
  uri.replace(
    /^mongodb(?:\+srv)?:\/\/((?:[^@/]*@)?)[^/?]+/,
    (_, credentials: string) => `mongodb://${credentials}${host}`,
  );

async function loadDriver(): Promise<typeof import('mongodb')> {
  try {
    return await import('mongodb');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CommandFailure(
      EXIT.configuration,
      'the driver of MongoDB is missing; install it beside leasehold: npm install mongodb',
      { cause },
    );
  }
}

const FORBIDDEN_IN_DATABASE = /[\0/\\. "$]|^.{64}/su;

/** Requires a name: without one, the driver would use the database `test`, and users would share locks by accident. */
function databaseName(given: string | undefined, uri: string): string {
  const [, inUri] = /^mongodb(?:\+srv)?:\/\/[^/?]+\/([^?]+)/.exec(uri) ?? [];
  const name = given ?? (inUri === undefined ? '' : decodeURIComponent(inUri));
  if (FORBIDDEN_IN_DATABASE.test(name)) {
    throw new CommandFailure(EXIT.configuration, `${JSON.stringify(name)} is no legal name of a database`);
  }
  if (name !== '') return name;
  throw new CommandFailure(EXIT.configuration, 'no database is named: give --db, or name it in the URI');
}

async function connectWithin(client: MongoClient, boundMs: number, signal?: AbortSignal): Promise<void> {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new CommandFailure(EXIT.unavailable, `no server answered within ${boundMs} ms`));
  }, boundMs);
  const ends = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  try {
    await Promise.race([client.connect(), rejectedBy(ends)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until `ending` settles, for at most `boundMs`. The process exits afterwards, so a failure is ignored. */
async function within(boundMs: number, ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, boundMs);
  });
  await Promise.race([ending.catch(() => undefined), over]);
  clearTimeout(timer);
}
