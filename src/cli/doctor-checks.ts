// What `doctor` asks the server and the driver. The checks of times are in doctor-times.ts.

import { readFileSync } from 'node:fs';

import type { Document } from 'mongodb';

import { textOf } from '../error-text.js';
import type { Session } from './connection.js';
import { fail, ok, warn } from './finding.js';
import type { Finding } from './finding.js';
import { counted } from './values.js';

/** The code of the server for a command that the user may not send. */
const UNAUTHORIZED = 13;

const isUnauthorized = (error: unknown): boolean => (error as { code?: unknown }).code === UNAUTHORIZED;

/** Sent with most commands of this file: how long the command may take at the server, in ms. */
const BOUND = { maxTimeMS: 5_000 } as const;

/** The major version of the oldest server that the library supports. */
const LEAST_SERVER = 5;

/** If the user lacks an action in `NEEDED`, no lock works. If the user lacks one in `USEFUL`, locks work less well. */
const NEEDED: readonly string[] = ['find', 'insert', 'update'];
const USEFUL: readonly string[] = ['changeStream', 'createIndex'];

export async function checkServer({ db }: Session): Promise<Finding> {
  const { version } = (await db.admin().command({ buildInfo: 1, ...BOUND })) as { version: string };
  if (Number.parseInt(version) >= LEAST_SERVER) return ok(`MongoDB ${version}`);
  return fail(
    `MongoDB ${version}; the library refuses servers before 5.0`,
    'Upgrade the server to 5.0 or later.',
  );
}

export function checkDriver(): Finding {
  const manifest = new URL('../package.json', import.meta.resolve('mongodb'));
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isSupported = major === 7 || (major === 6 && minor >= 10);
  if (isSupported) return ok(`mongodb ${version}`);
  return fail(`mongodb ${version} is not supported`, 'Install a driver from 6.10 on, and below 8.');
}

/** The parts of the answer to `hello` that the checks read. */
export interface Hello {
  readonly setName?: string;
  readonly hosts?: readonly string[];
  /** The members of priority 0. The server names no hidden members. */
  readonly passives?: readonly string[];
  readonly msg?: string;
}

/** The data-bearing members that the server names. */
export const membersIn = ({ hosts = [], passives = [] }: Hello): readonly string[] => [...hosts, ...passives];

export async function checkTopology({ db }: Session): Promise<Finding> {
  const hello: Hello = await db.admin().command({ hello: 1, ...BOUND });
  const { setName, msg } = hello;
  if (msg === 'isdbgrid') {
    return warn(
      'a sharded cluster, on which the library is not tested',
      'Read "What the server needs" in docs/operations.md.',
    );
  }
  if (setName === undefined) {
    return fail(
      'a standalone server: no majority confirms a grant, and no change stream wakes a waiter',
      'Start the server with --replSet, and call rs.initiate(). One member is enough for that.',
    );
  }
  const count = membersIn(hello).length;
  const members = `replica set ${setName}, at least ${counted(count, 'data-bearing member', 'data-bearing members')}`;
  if (count >= 3) return ok(members);
  return warn(
    `${members}: locks cannot be used while ${count === 1 ? 'it' : 'one of them'} is away`,
    'Three members survive the loss of one.',
  );
}

export async function checkChangeStreams({ db, collectionName }: Session): Promise<Finding> {
  const stream = db.collection(collectionName).watch([], { maxAwaitTimeMS: 1 });
  try {
    await stream.tryNext();
    return ok('a change stream opens, so waiters learn of their grants at once');
  } catch (error) {
    return warn(
      `no change stream opens, so waiters poll: ${textOf(error)}`,
      'Use a replica set, and grant changeStream on the collection.',
    );
  } finally {
    await stream.close();
  }
}

interface Privilege {
  readonly resource: { readonly db?: string; readonly collection?: string; readonly anyResource?: boolean };
  readonly actions: readonly string[];
}

/** Whether the server refuses a command because nobody has logged in. */
async function demandsUser({ db, collectionName }: Session): Promise<boolean> {
  try {
    await db.collection(collectionName).findOne({}, { projection: { _id: 1 }, ...BOUND });
    return false;
  } catch (error) {
    if (isUnauthorized(error)) return true;
    throw error;
  }
}

export async function checkPrivileges(session: Session): Promise<Finding> {
  const { db, collectionName } = session;
  const status = await db.admin().command({ connectionStatus: 1, showPrivileges: true, ...BOUND });
  const { authenticatedUsers, authenticatedUserPrivileges } = (status as { authInfo: AuthInfo }).authInfo;
  if (authenticatedUsers.length === 0) {
    if (await demandsUser(session)) {
      return fail(
        'the server demands a user and the URI names none',
        'Name a user in the URI; docs/operations.md has the role.',
      );
    }
    return warn(
      'access control is off: every client of the server may change every lock',
      'Turn on access control.',
    );
  }
  const covers = ({ resource }: Privilege): boolean =>
    resource.anyResource === true ||
    (['', db.databaseName].includes(resource.db ?? '?') &&
      ['', collectionName].includes(resource.collection ?? '?'));
  const allowed = new Set(authenticatedUserPrivileges.filter(covers).flatMap(({ actions }) => actions));
  const missing = (actions: readonly string[]): string =>
    allowed.has('anyAction') ? '' : actions.filter((each) => !allowed.has(each)).join(', ');
  const where = `${db.databaseName}.${collectionName}`;
  const advice = (actions: string): string =>
    `Grant ${actions} on ${where}; docs/operations.md has the role.`;
  if (missing(NEEDED) !== '') {
    return fail(`${missing(NEEDED)} missing on ${where}: no lock can be acquired`, advice(missing(NEEDED)));
  }
  if (missing(USEFUL) !== '') {
    const effect = 'without changeStream waiters poll, without createIndex unused locks stay';
    return warn(`${missing(USEFUL)} missing on ${where}: ${effect}`, advice(missing(USEFUL)));
  }
  return ok(`${[...NEEDED, ...USEFUL].join(', ')} on ${where}`);
}

interface AuthInfo {
  readonly authenticatedUsers: readonly object[];
  readonly authenticatedUserPrivileges: readonly Privilege[];
}

export async function checkIndex({ db, collectionName }: Session): Promise<Finding> {
  // With these two options, the command needs no privilege. It shows the collections that the user may use.
  const mine = { nameOnly: true, authorizedCollections: true, ...BOUND } as const;
  const found = await db.listCollections({ name: collectionName }, mine).toArray();
  if (found.length === 0) return ok('no lock was ever stored; the first acquire creates the index');
  let indexes: readonly Document[];
  try {
    indexes = await db.collection(collectionName).listIndexes(BOUND).toArray();
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    return ok('not looked at: that needs the privilege listIndexes, which locks do not need');
  }
  if (indexes.some((each) => each['expireAfterSeconds'] !== undefined)) {
    return ok('the index that purges unused locks is there');
  }
  return warn(
    'the index that purges unused locks is missing: unused documents stay',
    'Grant createIndex on the collection; the next grant then creates the index.',
  );
}

/**
 * A pool of 1 connection has no room for a change stream beside other commands. A pool of 2 connections has room only
 * for the change stream that wakes waiters, and observers of elections need a second one.
 */
export function checkPool({ client }: Session): Finding {
  const { maxPoolSize } = client.options;
  const size =
    maxPoolSize === 0 ? 'without a bound' : `of ${counted(maxPoolSize, 'connection', 'connections')}`;
  if (maxPoolSize === 0 || maxPoolSize >= 3) return ok(`a pool ${size}`);
  return warn(
    `a pool ${size}: ${maxPoolSize === 1 ? 'waiters' : 'observers of elections'} poll`,
    'Set maxPoolSize in the URI to 3 or more. The driver’s default is 100.',
  );
}

export async function checkStreams({ client, db, collectionName }: Session): Promise<Finding> {
  const ofLocks = {
    ns: `${db.databaseName}.${collectionName}`,
    'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true },
  };
  try {
    const streams = await client
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true, idleCursors: true } }, { $match: ofLocks }], BOUND)
      .toArray();
    const open = counted(streams.length, 'change stream is open', 'change streams are open');
    return ok(`${open} on the collection`);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    return ok('not counted: that needs the privilege inprog on the cluster, which locks do not need');
  }
}
