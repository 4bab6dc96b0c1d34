// What `doctor` asks the server and the driver. The checks of times are in doctor-times.ts.

import { readFileSync } from 'node:fs';

import type { Document } from 'mongodb';

import { textOf } from '../error-text.js';
import type { Session } from './connection.js';
import { fail, ok, warn } from './finding.js';
import type { Finding } from './finding.js';

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

export async function checkTopology({ db }: Session): Promise<Finding> {
  const hello = await db.admin().command({ hello: 1, ...BOUND });
  const { setName, hosts = [], msg } = hello as { setName?: string; hosts?: readonly string[]; msg?: string };
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
  const members = `replica set ${setName}, ${hosts.length} data-bearing ${hosts.length === 1 ? 'member' : 'members'}`;
  if (hosts.length >= 3) return ok(members);
  return warn(
    `${members}: locks cannot be used while ${hosts.length === 1 ? 'it' : 'one of them'} is away`,
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

export async function checkPrivileges({ db, collectionName }: Session): Promise<Finding> {
  const status = await db.admin().command({ connectionStatus: 1, showPrivileges: true, ...BOUND });
  const { authenticatedUsers, authenticatedUserPrivileges } = (status as { authInfo: AuthInfo }).authInfo;
  if (authenticatedUsers.length === 0) {
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
    actions.filter((each) => !allowed.has(each)).join(', ');
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
  const found = await db.listCollections({ name: collectionName }, BOUND).toArray();
  if (found.length === 0) return ok('no lock was ever stored; the first acquire creates the index');
  const indexes: readonly Document[] = await db.collection(collectionName).listIndexes(BOUND).toArray();
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
  const size = maxPoolSize === 0 ? 'without a bound' : `of ${maxPoolSize} connections`;
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
    return ok(`${streams.length} change streams are open on the collection`);
  } catch {
    return ok('not counted: that needs the privilege inprog on the cluster, which locks do not need');
  }
}

export async function checkKeptSeats({ locks }: Session): Promise<Finding> {
  let kept = 0;
  let held = 0;
  for await (const { holders } of locks.list({ heldOnly: true })) {
    held += holders.length;
    kept += holders.filter(({ keeps }) => keeps !== undefined).length;
  }
  return ok(`${held} seats are taken; processes keep ${kept} of them between their callers (keepMs)`);
}
