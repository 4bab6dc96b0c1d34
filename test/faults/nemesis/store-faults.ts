import { MongoServerError } from 'mongodb';
import type { Db } from 'mongodb';

import { killCursors } from '../../../lab/mongo-server/kill-cursors.js';
import { eventually, pause } from '../../../lab/patience.js';
import type { FaultCluster } from '../../../lab/cluster/fault-cluster.js';
import { NEW_NAME } from '../workload/bursts.js';
import { APP_NAME } from '../workload/messages.js';
import { during, last, onPrimary } from './fault-world.js';
import type { Fault, FaultWorld } from './fault-world.js';

/** The errors that the server gives instead of executing a command, or after it. */
const FAILURES: readonly [object, ...object[]] = [
  { errorCode: 11_600 }, // InterruptedAtShutdown
  { errorCode: 189 }, // PrimarySteppedDown
  { errorCode: 91 }, // ShutdownInProgress
  { errorCode: 10_107 }, // NotWritablePrimary
  { errorCode: 112 }, // WriteConflict
  { errorCode: 50 }, // MaxTimeMSExpired
  { errorCode: 262 }, // ExceededTimeLimit
  { errorCode: 462 }, // IngressRequestRateLimitExceeded
  { closeConnection: true },
  { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } },
  { writeConcernError: { code: 91, errmsg: 'shutting down' } },
  { blockConnection: true, blockTimeMS: 700, errorCode: 11_600 },
];

const COMMANDS: readonly [string[], ...string[][]] = [
  ['findAndModify'],
  ['update'],
  ['find'],
  ['findAndModify', 'update', 'find'],
  ['aggregate', 'getMore'],
];

export const failingCommands: Fault = {
  number: 9,
  title: 'commands fail, before or after they were applied',
  async inject(world) {
    const { cluster, random } = world;
    const [failure, failCommands] = [random.pick(FAILURES), random.pick(COMMANDS)];
    const times = random.between(1, 30);
    await during(world, this, `${times} × ${failCommands.join()} ${JSON.stringify(failure)}`, async () => {
      const primary = await cluster.untilPrimary();
      const data = { failCommands, appName: APP_NAME, ...failure };
      await primary.admin({ configureFailPoint: 'failCommand', mode: { times }, data });
      await pause(random.between(500, 2_000));
      if (primary.isRunning) await primary.admin({ configureFailPoint: 'failCommand', mode: 'off' });
    });
  },
};

export const killedCursors: Fault = {
  number: 15,
  title: 'the cursors of the wake streams are killed',
  async inject(world) {
    await during(world, this, 'cursors killed', async (tell) => {
      let cursors = 0;
      for (let left = world.random.between(1, 10); left > 0; left -= 1) {
        cursors += await killStreams(world);
        tell(cursors);
        await pause(world.random.between(0, 300));
      }
    });
  },
};

/** Kills all streams, and returns how many there were. */
async function killStreams(world: FaultWorld): Promise<number> {
  const ns = `${world.database}.${world.collection}`;
  return await onPrimary(world, async (db) => {
    const running = await db.client
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true, idleCursors: true } }, { $match: { ns } }])
      .toArray();
    const ids = running.flatMap((operation) => {
      const { cursorId } = (operation['cursor'] ?? {}) as { cursorId?: unknown };
      return cursorId === undefined ? [] : [cursorId];
    });
    return await killCursors(db, world.collection, ids);
  });
}

/** Nobody would miss the document of a lock that is used only once. */
const USED_AGAIN = { $not: new RegExp(`^${NEW_NAME}`) };

export const lostDocuments: Fault = {
  number: 18,
  title: 'the collection or a document is lost',
  excuses: ['exclusion', 'steady lease'],
  async inject(world) {
    const { collection, random } = world;
    const how = random.pick(['drop', 'rename', 'delete']);
    await during(world, this, how, async () => {
      await onPrimary(world, async (db) => {
        await eventually('there is a document to delete', () => db.collection(collection).findOne());
        if (how === 'drop') await db.dropCollection(collection);
        else if (how === 'rename') await renamed(db, collection, `gone-${random.between(0, 1e9)}`);
        else
          await db
            .collection<{ _id: string; kind: string }>(collection)
            .deleteOne({ kind: random.pick(['mutex', 'reader-writer', 'semaphore']), _id: USED_AGAIN });
      });
    });
  },
};

/** The server refuses to rename a collection while a process builds the index for the purge. */
const INDEX_BUILD_RUNS = 12_587;

async function renamed(db: Db, collection: string, to: string): Promise<void> {
  await eventually('the collection is renamed', () =>
    db.renameCollection(collection, to).catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === INDEX_BUILD_RUNS) return false;
      throw error;
    }),
  );
}

/** A member that has just been healed may be busy for a while. */
const UNDO_BOUND_MS = 30_000;

/** Undoes what interrupted faults of the store leave behind and `heal` of the cluster does not undo. */
export async function undoStoreFaults({ members }: FaultCluster): Promise<void> {
  for (const member of members) {
    if (!member.isRunning) continue;
    await member.admin({ configureFailPoint: 'failCommand', mode: 'off' }, UNDO_BOUND_MS);
    await member.admin({ setParameter: 1, ttlMonitorEnabled: true }, UNDO_BOUND_MS);
  }
}

/** The members purge every second. This fault switches that off and on. */
export const unsteadyPurge: Fault = {
  number: 19,
  title: 'the purge is switched off and on, and its index is dropped',
  async inject(world) {
    const { members } = world.cluster;
    await during(world, this, 'no purge, and no index for it', async () => {
      for (const member of members) await member.admin({ setParameter: 1, ttlMonitorEnabled: false });
      await last(world);
      for (const member of members) await member.admin({ setParameter: 1, ttlMonitorEnabled: true });
      await onPrimary(world, (db) =>
        db.command({ dropIndexes: world.collection, index: '*' }).catch(() => undefined),
      );
    });
  },
};

export const blockedByIndex: Fault = {
  number: 31,
  title: 'an index is built behind an open transaction',
  async inject(world) {
    await during(world, this, 'createIndex', async () => {
      await onPrimary(world, async (db) => {
        const locks = db.collection<{ _id: string }>(world.collection);
        await db.client.withSession(async (session) => {
          session.startTransaction();
          await locks.insertOne(
            { _id: `of a transaction ${String(world.random.between(0, 1e9))}` },
            { session },
          );
          const building = db
            .command({
              createIndexes: world.collection,
              indexes: [{ key: { someField: 1 }, name: 'someField_1' }],
            })
            .catch(() => undefined);
          await last(world);
          await session.abortTransaction();
          await building;
        });
        await locks.dropIndex('someField_1').catch(() => undefined);
      });
    });
  },
};
