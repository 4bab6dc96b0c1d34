import { MongoClient } from 'mongodb';
import type { Db } from 'mongodb';

import { LockProvider } from '../index.js';
import { connectionFailure, hostsIn } from './connection-failure.js';
import { Ending } from './ending.js';
import { CommandFailure, EXIT, isOfArgument } from './exit-codes.js';
import type { Interruption } from './interruption.js';
import { orAborted } from './or-aborted.js';
import { Output } from './output.js';
import type { OutputOptions } from './output.js';
import { StoreTrouble } from './store-trouble.js';
import { TimeLimit } from './time-limit.js';

/** The options of every command. */
export interface CommonOptions extends OutputOptions {
  readonly db?: string | undefined;
  readonly collection: string;
}

/** The longest time for connecting, in ms. If no server answers, a command ends with the exit code 69 within 20 s. */
const CONNECT_MS = 10_000;

/**
 * A command has at least this time for connecting, in ms, even if its own time is shorter. A healthy server usually
 * needs less.
 */
const LEAST_CONNECT_MS = 1_000;

/** How much later than the driver the command gives up, in ms, because the error of the driver says more. */
const GRACE_MS = 1_000;

/** How long a command to the server may go without an answer, in ms. The library has shorter bounds of its own. */
const SOCKET_MS = 30_000;

/** How much of the time of the end is kept for closing the client, in ms. */
const CLIENT_MS = 500;

/** A connected client with one provider. Its disposal closes both. */
export interface Session extends AsyncDisposable {
  readonly client: MongoClient;
  readonly db: Db;
  readonly collectionName: string;
  readonly locks: LockProvider;
  readonly output: Output;
  /** Makes a client for one member of the replica set, with the credentials and the TLS options of `client`. */
  readonly clientOf: (host: string, boundMs: number) => MongoClient;
  readonly trouble: StoreTrouble;
  /** Bounds what the command gives back at its end, and the disposal. */
  readonly ending: Ending;
}

export interface SessionOptions {
  /** Shown to other processes beside the process id. */
  readonly label: string;
  /**
   * The time for connecting, in ms. Less than `LEAST_CONNECT_MS` is raised to that time, and more than `CONNECT_MS` is
   * cut. Default: `CONNECT_MS`.
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait for a connection. Without it, a signal ends the process at once. */
  readonly interruption?: Interruption | undefined;
  /** Whether the session says failures of the store in which the command goes on. Default: true. */
  readonly saysTrouble?: boolean | undefined;
}

export async function openSession(options: CommonOptions, how: SessionOptions): Promise<Session> {
  const output = new Output(options);
  const ending = new Ending(output, how.interruption);
  const { uri = '' } = options;
  if (uri === '') {
    throw new CommandFailure(
      EXIT.configuration,
      'no server is named: give --uri, or set LEASEHOLD_URI or MONGODB_URI',
    );
  }
  const boundMs = Math.min(CONNECT_MS, Math.max(LEAST_CONNECT_MS, how.timeoutMs ?? CONNECT_MS));
  const client = made(uri, () => {
    const times = {
      serverSelectionTimeoutMS: boundMs,
      connectTimeoutMS: CONNECT_MS,
      socketTimeoutMS: SOCKET_MS,
    };
    return new MongoClient(uri, times);
  });
  try {
    const name = databaseName(options.db, uri);
    const db = client.db(name);
    const { collection: collectionName } = options;
    const connected = connectWithin(client, boundMs + GRACE_MS, how.interruption?.signal);
    connected.catch(() => undefined);
    const locks = checked(() => new LockProvider(db, { collectionName, label: how.label }));
    const trouble = new StoreTrouble(locks, how.saysTrouble === false ? undefined : output);
    locks.on('released', ({ confirmed }) => {
      ending.released(confirmed);
    });
    await connected;
    const parts = { client, locks, trouble, ending };
    return {
      ...{ ...parts, db, collectionName, output, clientOf: clientsOfMembers(uri, client) },
      [Symbol.asyncDispose]: async () => {
        await close(parts);
      },
    };
  } catch (error) {
    ending.begin();
    await ending.within(client.close(), 0);
    ending[Symbol.dispose]();
    throw connectionFailure(error, uri, client);
  }
}

async function close({
  client,
  locks,
  trouble,
  ending,
}: Pick<Session, 'client' | 'locks' | 'trouble' | 'ending'>): Promise<void> {
  ending.begin();
  trouble.hush();
  // The place of a request that was ended, and a seat whose release the store has not confirmed, are given back in the
  // background. `close` waits for that.
  const drainMs = ending.leftMs(2 * CLIENT_MS);
  const startedMs = performance.now();
  const closed = await ending.within(locks.close({ drainMs }), CLIENT_MS);
  ending.closed(closed !== undefined && performance.now() - startedMs < drainMs);
  await ending.within(client.close(), 0);
  // A provider that is not closed yet still reports failures.
  if (closed !== undefined) trouble[Symbol.dispose]();
  ending[Symbol.dispose]();
}

function clientsOfMembers(uri: string, client: MongoClient): Session['clientOf'] {
  const { credentials, tls } = client.options;
  return (host, ms) =>
    new MongoClient(uriOf(uri, host), {
      serverSelectionTimeoutMS: ms,
      connectTimeoutMS: ms,
      socketTimeoutMS: ms,
      // A URI with +srv switches TLS on, and may take `authSource` from DNS. The new URI is without +srv, so both options
      // are set here.
      tls,
      ...(credentials === undefined ? {} : { authSource: credentials.source }),
      directConnection: true,
    });
}

function made(uri: string, make: () => MongoClient): MongoClient {
  try {
    return make();
  } catch (error) {
    throw connectionFailure(error, uri);
  }
}

/** Calls what checks arguments of the user and nothing else. */
function checked<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw isOfArgument(error) ? new CommandFailure(EXIT.usage, error.message, { cause: error }) : error;
  }
}

/** The connection string with one host instead of all hosts, and without the options of `+srv`. */
export const uriOf = (uri: string, host: string): string =>
  uri
    .replace(
      /^mongodb(?:\+srv)?:\/\/((?:[^@/]*@)?)[^/?]+/,
      (_, credentials: string) => `mongodb://${credentials}${host}`,
    )
    .replace(/\?[^?]*$/, (query) => query.replace(/(?<=[?&])srv(?:MaxHosts|ServiceName)=[^&]*&?/gi, ''));

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
  const message = `no server of ${hostsIn(client)} answered within ${boundMs} ms`;
  using limit = new TimeLimit(boundMs, new CommandFailure(EXIT.unavailable, message));
  const ends = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  await orAborted(client.connect(), ends);
}
