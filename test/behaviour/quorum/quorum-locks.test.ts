import { describe, expect, it } from 'vitest';

import {
  AcquireTimeoutError,
  DeadlockError,
  LockLostError,
  ProviderClosedError,
  StaleTokenError,
  fencedUpdateOne,
} from '../../../src/index.js';
import { QuorumError } from '../../../src/quorum/index.js';
import type { LockProviderEvents, Mutex } from '../../../src/index.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { itOnServers } from '../../support/on-servers.js';
import { randomName } from '../../support/test-provider.js';
import { eventually, later, nowMs, pause, rejection, staysOpen, within } from '../../../lab/patience.js';
import { answeredTimeout, toldOfHolders } from '../../support/answered-timeout.js';
import { useThreeDeployments } from './deployments.js';

/** In a function of its own, so that no variable of a test keeps the handle. */
async function takeAndForget(mutex: Mutex): Promise<void> {
  // eslint-disable-next-line no-restricted-syntax -- the handle is to be collected
  await mutex.acquire();
}

const deployments = useThreeDeployments();

interface Stored {
  readonly process: string;
  readonly expiresAt: Date;
}

/** The process that holds a mutex in each of these deployments, by the stored documents. */
async function holders(
  name: string,
  indexes: readonly number[] = [0, 1, 2],
): Promise<readonly (string | null)[]> {
  return await Promise.all(
    indexes.map(async (index) => {
      const document = await deployments.document(index, name);
      const holder = (document?.['holder'] ?? null) as Stored | null;
      return holder !== null && holder.expiresAt > deployments.at(index).now() ? holder.process : null;
    }),
  );
}

const nobodyHolds = (name: string, indexes?: readonly number[]): Promise<unknown> =>
  eventually('no process holds', async () =>
    (await holders(name, indexes)).every((process) => process === null),
  );

describe('a mutex of three deployments', () => {
  it('is held in all of them by one process at a time, with rising tokens', async () => {
    const [here, there] = [deployments.provider(), deployments.provider()];
    const name = randomName('m');
    const first = await here.createMutex(name).acquire({ why: 'to see' });
    await eventually('all three', async () => (await holders(name)).every((each) => each === here.processId));
    expect(await there.createMutex(name).tryAcquire()).toBeNull();
    const asked = there.createMutex(name);
    const error = await answeredTimeout((timeoutMs) => asked.acquire({ timeoutMs }), toldOfHolders);
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error.holders).toMatchObject([{ process: here.processId, why: 'to see' }]);
    const snapshot = await there.createMutex(name).inspect();
    expect(snapshot?.holders).toMatchObject([
      { process: here.processId, token: expect.any(Number) as number },
    ]);
    const waiting = later(there.createMutex(name).acquire());
    expect(await staysOpen(waiting, 300)).toBe(true);
    expect(await first.release()).toBe(true);
    const second = await within(30_000, 'the next one', waiting);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await second.release();
    await nobodyHolds(name);
    expect((await there.createMutex(name).inspect())?.holders).toEqual([]);
  });

  it('is granted to a waiter soon after its release, not at the next look', async () => {
    const options = { pollMs: { min: 60_000, max: 60_000 } };
    const [here, there] = [deployments.provider(), deployments.provider(options)];
    const name = randomName('m');
    const first = await here.createMutex(name).acquire();
    const waiting = later(there.createMutex(name).acquire());
    await pause(2_000);
    await first.release();
    await (await within(25_000, 'woken', waiting)).release();
  });

  it('is extended for as long as it is held', async () => {
    const locks = deployments.provider({ leaseMs: 6_000, extendEveryMs: 500 });
    const lock = await locks.createMutex(randomName('m')).acquire();
    await pause(13_000);
    expect(lock.isHeld).toBe(true);
    await lock.confirm();
    expect(await lock.release()).toBe(true);
  });

  it('emits the events of a hold once for all deployments', async () => {
    const locks = deployments.provider();
    const told: (keyof LockProviderEvents)[] = [];
    for (const event of ['acquired', 'released', 'lost', 'waiting', 'extended'] as const) {
      locks.on(event, () => told.push(event));
    }
    const lock = await locks.createMutex(randomName('m')).acquire();
    await lock.release();
    expect(told).toEqual(['acquired', 'released']);
  });

  itOnServers('is released when its handle is garbage-collected', async () => {
    const locks = deployments.provider();
    const name = randomName('m');
    const abandoned: string[] = [];
    locks.on('abandoned', ({ lockName }) => abandoned.push(lockName));
    await takeAndForget(locks.createMutex(name));
    await eventually('abandoned', async () => {
      collectGarbage();
      await pause(100);
      return abandoned.includes(name);
    });
    await nobodyHolds(name);
  });

  it('refuses a nested use within its own use with a DeadlockError', async () => {
    const mutex = deployments.provider().createMutex(randomName('m'));
    await mutex.use(async () => {
      expect(await rejection(mutex.use(() => undefined))).toBeInstanceOf(DeadlockError);
    });
  });

  it('has tokens that fence out an older holder', async () => {
    const [here, there] = [deployments.provider(), deployments.provider()];
    const name = randomName('m');
    const resource = deployments.db(0).collection<{ _id: string; by?: string; fencingToken?: number }>(name);
    await resource.insertOne({ _id: 'r' });
    const first = await here.createMutex(name).acquire();
    await fencedUpdateOne(resource, { _id: 'r' }, { $set: { by: 'first' } }, first);
    await first.release();
    const second = await there.createMutex(name).acquire();
    await fencedUpdateOne(resource, { _id: 'r' }, { $set: { by: 'second' } }, second);
    const stale = fencedUpdateOne(resource, { _id: 'r' }, { $set: { by: 'first' } }, first);
    expect(await rejection(stale)).toBeInstanceOf(StaleTokenError);
    await second.release();
  });

  it('is another lock under another collection name', async () => {
    const [here, there] = [deployments.provider(), deployments.provider({ collectionName: 'other.locks' })];
    const name = randomName('m');
    await using one = await here.createMutex(name).acquire();
    await using other = await there.createMutex(name).acquire({ timeoutMs: 60_000 });
    expect([one.isHeld, other.isHeld]).toEqual([true, true]);
  });

  it('stays with its holder while the provider closes', async () => {
    const locks = deployments.provider();
    const mutex = locks.createMutex(randomName('m'));
    const lock = await mutex.acquire();
    const waiting = later(mutex.acquire());
    const closing = locks.close({ drainMs: 60_000 });
    expect(await rejection(waiting)).toBeInstanceOf(ProviderClosedError);
    await eventually('asked', () => lock.releaseRequested.aborted);
    expect(lock.isHeld).toBe(true);
    await lock.release();
    await within(10_000, 'closed', closing);
    expect(await rejection(mutex.acquire())).toBeInstanceOf(ProviderClosedError);
  });
});

describe('a reader-writer lock of three deployments', () => {
  it('is held by readers together, and by a writer alone', async () => {
    const [here, there] = [deployments.provider(), deployments.provider()].map((locks) =>
      locks.createReaderWriterLock('rw'),
    );
    if (here === undefined || there === undefined) throw new Error('there are two');
    const readers = [await here.acquireRead(), await there.acquireRead({ timeoutMs: 60_000 })];
    expect(await there.tryAcquireWrite()).toBeNull();
    const writing = later(here.acquireWrite());
    expect(await staysOpen(writing, 200)).toBe(true);
    for (const reader of readers) await reader.release();
    const writer = await within(30_000, 'the writer', writing);
    expect(writer.fencingToken).toBeGreaterThan(Math.max(...readers.map((each) => each.fencingToken)));
    expect(await there.tryAcquireRead()).toBeNull();
    expect(await there.tryAcquireWrite()).toBeNull();
    await writer.downgrade('read');
    const beside = await there.acquireRead({ timeoutMs: 60_000 });
    expect([writer.currentMode(), beside.isHeld]).toEqual(['read', true]);
    await Promise.all([writer.release(), beside.release()]);
  });

  it('has one upgradeable read, which becomes a write once the other readers have left', async () => {
    const [here, there] = [deployments.provider(), deployments.provider()].map((locks) =>
      locks.createReaderWriterLock('upgraded'),
    );
    if (here === undefined || there === undefined) throw new Error('there are two');
    const upgradeable = await here.acquireUpgradeableRead();
    const reader = await there.acquireRead({ timeoutMs: 60_000 });
    const before = upgradeable.fencingToken;
    expect(await there.tryAcquireUpgradeableRead()).toBeNull();
    expect(await upgradeable.tryUpgrade()).toBe(false);
    const upgrading = later(upgradeable.upgrade());
    expect(await staysOpen(upgrading, 200)).toBe(true);
    await reader.release();
    await within(10_000, 'upgraded', upgrading);
    expect(upgradeable.currentMode()).toBe('write');
    expect(upgradeable.fencingToken).toBeGreaterThan(before);
    expect(await there.tryAcquireRead()).toBeNull();
    await upgradeable.downgrade('upgradeable');
    const again = await there.acquireRead({ timeoutMs: 60_000 });
    await Promise.all([upgradeable.release(), again.release()]);
  });
});

describe('with one of three deployments down', () => {
  it('locks are acquired, extended, released and waited for', async () => {
    const member = deployments.at(1);
    await member.kill();
    try {
      const options = { leaseMs: 6_000, extendEveryMs: 500, storeTimeoutMs: 60_000 };
      const [here, there] = [deployments.provider(options), deployments.provider(options)];
      const name = randomName('m');
      const first = await within(40_000, 'one', here.createMutex(name).acquire());
      const waiting = later(there.createMutex(name).acquire());
      await pause(7_500);
      expect(first.isHeld).toBe(true);
      expect(await first.release()).toBe(true);
      const second = await within(40_000, 'the next', waiting);
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
      await second.release();
      await nobodyHolds(name, [0, 2]);
    } finally {
      await deployments.heal();
    }
  });

  it('a hold survives the restart of each deployment, one after the other', async () => {
    const leaseMs = 8_000;
    const locks = deployments.provider({ leaseMs, extendEveryMs: 500, storeTimeoutMs: 2_000 });
    const name = randomName('m');
    const lock = await locks.createMutex(name).acquire();
    for (const member of deployments.all) {
      await member.kill();
      await pause(leaseMs + 500);
      expect(lock.isHeld).toBe(true);
      await deployments.heal();
      await eventually('it is held here again', async () => {
        expect(lock.isHeld).toBe(true);
        return (await holders(name)).every((process) => process === locks.processId);
      });
    }
    expect(await lock.release()).toBe(true);
    await nobodyHolds(name);
  });
});

describe('with two of three deployments down', () => {
  it('a try and a wait fail in time with a QuorumError, and leave nothing held', async () => {
    await deployments.at(0).kill();
    await deployments.at(2).kill();
    try {
      const locks = deployments.provider({ leaseMs: 2_000, storeTimeoutMs: 1_000 });
      const name = randomName('m');
      const mutex = locks.createMutex(name);
      const error = await within(12_000, 'the try', rejection(mutex.tryAcquire()));
      expect(error).toBeInstanceOf(QuorumError);
      expect(error).toMatchObject({ stores: 3, lockName: name });
      const waited = await within(12_000, 'the wait', rejection(mutex.acquire({ timeoutMs: 3_000 })));
      expect(waited).toBeInstanceOf(QuorumError);
      await nobodyHolds(name, [1]);
    } finally {
      await deployments.heal();
    }
  });

  it('a hold is lost before its leases expire, and its signal says so', async () => {
    const leaseMs = 12_000;
    const locks = deployments.provider({ leaseMs, clockAllowanceMs: 5_000, storeTimeoutMs: 500 });
    const name = randomName('m');
    const lock = await locks.createMutex(name).acquire();
    const lost = new Promise<number>((resolve) => {
      lock.signal.addEventListener('abort', () => {
        resolve(nowMs());
      });
    });
    for (const index of [0, 2]) deployments.at(index).hang();
    const stoppedMs = nowMs();
    try {
      const lostMs = await within(30_000, 'the signal', lost);
      // The last extension may have been sent just before.
      expect(lostMs - stoppedMs).toBeLessThan(leaseMs);
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
      expect(lock.isHeld).toBe(false);
      await nobodyHolds(name, [1]);
    } finally {
      await deployments.heal();
    }
  });
});

describe('a deployment that hangs', () => {
  it('slows down no request, not even a split vote after the first one', async () => {
    const member = deployments.at(2);
    const storeTimeoutMs = 20_000;
    const [here, there] = [
      deployments.provider({ storeTimeoutMs }),
      deployments.provider({ storeTimeoutMs }),
    ];
    const names = [randomName('m'), randomName('m')];
    for (const name of names) await here.createMutex(name).use(() => undefined);
    member.hang();
    try {
      const startedMs = nowMs();
      const mutex = here.createMutex(names[0] ?? '');
      await (await mutex.acquire()).release();
      expect(nowMs() - startedMs).toBeLessThan(storeTimeoutMs / 2);
      // The contenders go on until each has held the lock several times: no turn is promised, and yet none starves.
      const counts = [0, 0, 0, 0];
      const contenders = counts.map(async (_, index) => {
        const contended = (index % 2 === 0 ? here : there).createMutex(names[1] ?? '');
        while (Math.min(...counts) < 4) {
          await contended.use(() => undefined, { timeoutMs: 120_000 });
          counts[index] = (counts[index] ?? 0) + 1;
        }
      });
      await Promise.all(contenders);
      console.log(`with one of three hanging: ${counts.join(', ')} holds`);
    } finally {
      await deployments.heal();
    }
  });
});

describe('a deployment that answers late', () => {
  it('keeps no seat of an attempt that has failed', async () => {
    const locks = deployments.provider({ storeTimeoutMs: 3_000 });
    const name = randomName('m');
    const other = deployments.provider();
    const held = await other.createMutex(name).acquire();
    await eventually('all three', async () => (await holders(name)).every((each) => each !== null));
    deployments.at(2).delay(400);
    try {
      expect(await locks.createMutex(name).tryAcquire()).toBeNull();
      await held.release();
      await pause(1_000);
    } finally {
      await deployments.heal();
    }
    await nobodyHolds(name);
  });
});
