// What `doctor` asks the server and the driver. The checks of times are in doctor-times.ts.

import type { Document } from 'mongodb';
import driver from 'mongodb/package.json' with { type: 'json' };

import { textOf } from '../error-text.js';
import { LEAST_POOL_TO_OBSERVE, LEAST_POOL_TO_OVERSEE } from '../options/pool-settings.js';
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

/** The build puts the driver into the command line, and this version with it. */
export const checkDriver = (): Finding =>
  ok(`mongodb ${driver.version}, inside the command line; an application has its own`);

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
    'Grant createIndex on the collection; a new process then creates the index after its first grant.',
  );
}

/**
 * A pool of 1 connection has no room for a change stream beside other commands. A pool of 2 connections has room only
 * for the change stream that wakes waiters. Observers of elections need a second one, and a dashboard needs a third.
 */
export function checkPool({ client }: Session): Finding {
  const { maxPoolSize } = client.options;
  if (maxPoolSize === 0) return ok('a pool without a bound');
  const pool = `a pool of ${counted(maxPoolSize, 'connection', 'connections')}`;
  if (maxPoolSize >= LEAST_POOL_TO_OVERSEE) return ok(pool);
  // A dashboard that polls shows locks a little later, and disturbs none.
  if (maxPoolSize >= LEAST_POOL_TO_OBSERVE)
    return ok(`${pool}, enough for locks; a dashboard polls below ${LEAST_POOL_TO_OVERSEE}`);
  const polling = maxPoolSize === 1 ? 'waiters, observers of elections' : 'observers of elections';
  return warn(
    `${pool}: ${polling} and dashboards poll, so they learn of changes late`,
    `Set maxPoolSize in the URI to ${LEAST_POOL_TO_OVERSEE} or more; ${LEAST_POOL_TO_OBSERVE} without a dashboard. The driver’s default is 100.`,
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
