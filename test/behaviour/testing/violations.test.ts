import { afterEach, describe, expect, it } from 'vitest';
import { Fleet } from './fleet.js';

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

/** Changes a lock document as no operation of the library does, while the lock is held. */
async function planted(update: object): Promise<readonly string[]> {
  fleet = new Fleet(41);
  const { set } = fleet;
  const [member] = fleet.members;
  if (member === undefined) throw new Error('no process');
  await member.locks.createMutex('m').acquire();
  await member.locks.createSemaphore('s', 2).acquire({ permits: 2 });
  await member.locks.createReaderWriterLock('r').acquireRead();
  expect(set.violations()).toEqual([]);
  await member.db.collection('distributed.locks').updateMany({}, update);
  await set.settle();
  return set.violations().map(({ invariant, id, what }) => `${invariant} ${String(id)}: ${what}`);
}

describe('violations() finds', () => {
  it('a fence that falls', async () => {
    const found = await planted({ $set: { fence: 1 } });
    expect(found).toContainEqual(expect.stringMatching(/^S3 m: the fence falls from \d+ to 1$/));
  });

  it('a lease that vanishes before its expiry', async () => {
    const found = await planted({ $set: { holder: null, holders: [], readers: [] } });
    for (const id of ['m', 's', 'r']) {
      expect(found).toContainEqual(expect.stringContaining(`S5 ${id}: `));
    }
  });

  it('a writer beside a reader', async () => {
    const writer = { id: 'w1', token: 1, mode: 'write', expiresAt: new Date(0), acquiredAt: new Date(0) };
    const found = await planted({ $set: { writer } });
    expect(found).toContainEqual('S1 r: a writer excludes nobody');
  });

  it('more permits than the limit, granted at once', async () => {
    const lease = { id: 'w2', token: 1e15, permits: 1, expiresAt: new Date(0), acquiredAt: new Date(0) };
    const found = await planted({ $push: { holders: lease } });
    expect(found).toContainEqual('S1 s: 3 permits of 2 are held after a grant');
  });

  it('a document that vanishes with a lease in it', async () => {
    await planted({ $set: { other: 1 } });
    const [member] = fleet?.members ?? [];
    await member?.db.collection('distributed.locks').deleteMany({});
    await fleet?.set.settle();
    expect(fleet?.set.violations().map(({ what }) => what)).toContainEqual(
      expect.stringContaining('the document vanishes with the lease'),
    );
  });
});
