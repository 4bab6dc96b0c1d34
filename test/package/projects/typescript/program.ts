import { AcquireTimeoutError, LockProvider, fencedTransaction, fencedUpdateOne } from 'leasehold';
import type { CompositeHandle, LockHandle, PermitHandle, ReaderWriterHandle } from 'leasehold';
import { runCoordinator } from 'leasehold/node-cron';
import type { RunCoordinator } from 'leasehold/node-cron';
import { QuorumError, QuorumLockProvider } from 'leasehold/quorum';
import { MemoryReplicaSet } from 'leasehold/testing';
import type { Violation } from 'leasehold/testing';
import { MongoClient } from 'mongodb';
import type { ClientSession, UpdateResult } from 'mongodb';

interface Account {
  readonly _id: string;
  readonly balance: number;
}

const client = new MongoClient('mongodb://localhost');
const locks = new LockProvider(client.db('app'), { leaseMs: 30_000 });
const quorum = new QuorumLockProvider([client.db('a'), client.db('b'), client.db('c')], {
  minValidityMs: 5_000,
});

export async function everyFunction(): Promise<void> {
  await using lock: LockHandle = await locks.acquireMutex('a', { timeoutMs: 5_000, why: 'test' });
  const tried: LockHandle | null = await locks.createMutex('b').tryAcquire();
  const shared: ReaderWriterHandle = await locks.createReaderWriterLock('c').acquireUpgradeableRead();
  const permits: PermitHandle = await locks.createSemaphore('d', 3).acquire({ permits: 2 });
  const requests = [{ mutex: locks.createMutex('e') }, { write: locks.createReaderWriterLock('f') }] as const;
  await using all: CompositeHandle<typeof requests> = await locks.acquireAll(requests);
  const [plain, writing] = all.handles;
  const handles: readonly [LockHandle, ReaderWriterHandle] = [plain, writing];
  const used: number = await locks.useMutex('g', ({ signal }) => (signal.aborted ? 1 : 2));
  const accounts = client.db('app').collection<Account>('accounts');
  const updated: UpdateResult<Account> = await fencedUpdateOne(
    accounts,
    { _id: 'a' },
    { $inc: { balance: 1 } },
    lock,
  );
  const balance: number = await fencedTransaction(client, lock, async (session) => {
    const own: ClientSession = session;
    return (await accounts.findOne({ _id: 'a' }, { session: own }))?.balance ?? 0;
  });
  // @ts-expect-error -- the filter must fit the collection
  await fencedUpdateOne(accounts, { _id: 1 }, { $inc: { balance: 1 } }, lock);
  // @ts-expect-error -- the update must fit the collection
  await fencedUpdateOne(accounts, { _id: 'a' }, { $set: { balance: 'much' } }, lock);
  // @ts-expect-error -- a client is no database
  new LockProvider(client);
  const coordinator: RunCoordinator = runCoordinator(locks, { timeoutMs: 5_000 });
  const runs: boolean = await coordinator.shouldRun('report:2026-01-31T03:00:00.000Z', 60_000);
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  await new LockProvider(set.db('app')).close();
  const violations: readonly Violation[] = set.violations();
  await set.close();
  locks.on('lost', ({ lockName, why }) => {
    console.log(lockName.toUpperCase(), why satisfies string);
  });
  try {
    await quorum.createMutex('h').acquire({ timeoutMs: 1 });
  } catch (error) {
    if (error instanceof QuorumError) console.log(error.stores.toFixed(), error.failures.length);
    if (error instanceof AcquireTimeoutError) console.log(error.waitedMs.toFixed(), error.holders.length);
  }
  console.log(
    tried?.fencingToken,
    shared.currentMode(),
    permits.permits,
    handles,
    used,
    updated.matchedCount,
    balance,
    runs,
    violations,
  );
}
