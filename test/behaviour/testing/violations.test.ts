import { afterEach, describe, expect, it } from 'vitest';
import { Fleet } from './fleet.js';
import { keepHold } from '../../support/keep-hold.js';

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

const lease = (id: string, token: number, more: object): object => ({
  ...{ id, token, process: 'p', leaseMs: 1_000, expiresAt: new Date(0), acquiredAt: new Date(0) },
  ...more,
});

/** Changes a lock document as no operation of the library does, while the lock is held. */
async function planted(update: object, id?: string): Promise<readonly string[]> {
  fleet = new Fleet(41);
  const { set } = fleet;
  const [member] = fleet.members;
  if (member === undefined) throw new Error('no process');
  await keepHold(member.locks.createMutex('m').acquire());
  await keepHold(member.locks.createSemaphore('s', 2).acquire({ permits: 2 }));
  await keepHold(member.locks.createReaderWriterLock('r').acquireRead());
  expect(set.violations()).toEqual([]);
  await member.db
    .collection<{ _id: string }>('distributed.locks')
    .updateMany(id === undefined ? {} : { _id: id }, update);
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
    const found = await planted({ $set: { writer: lease('w1', 1, { mode: 'write' }) } });
    expect(found).toContainEqual('S1 r: a writer excludes nobody');
  });

  it('more permits than the limit, granted at once', async () => {
    const found = await planted({ $push: { holders: lease('w2', 1e15, { permits: 1 }) } });
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

  it('a lease that is extended by more than a lease', async () => {
    const longer = { 'holder.expiresAt': new Date('2099-01-01'), purgeAt: new Date('2100-01-01') };
    const found = await planted({ $set: longer });
    expect(found).toContainEqual(expect.stringMatching(/^L1 m: \w+ has \d+ ms and counts on \d+ ms more$/));
  });

  it.each([
    [{ $set: { queue: null } }, 'queue is null, not an object'],
    [{ $set: { queue: [] } }, 'queue is an array, not an object'],
    [{ $set: { queue: { w1: null } } }, 'queue.w1 is null, not an object'],
    [{ $set: { holder: 'x' } }, 'holder is "x", not an object'],
    [{ $unset: { holder: '' } }, 'holder is missing, not an object'],
    [{ $unset: { 'holder.expiresAt': '' } }, 'holder.expiresAt is missing, not a date'],
    [{ $set: { 'holder.expiresAt': 'soon' } }, 'holder.expiresAt is "soon", not a date'],
    [{ $set: { fence: 'x' } }, 'fence is "x", not a whole number'],
    [{ $set: { fence: Number.NaN } }, 'fence is null, not a whole number'],
    [{ $unset: { wake: '' } }, 'wake is missing, not a text'],
    [{ $unset: { purgeAt: '' } }, 'purgeAt is missing, not a date'],
    [{ $set: { v: 2 } }, 'v is 2, not 1'],
    [{ $set: { kind: 5 } }, 'kind is 5'],
  ])('a corrupt document, and judges it again when it is mended: %j', async (update, fault) => {
    expect(await planted(update, 'm')).toEqual([`S1 m: it is no lock document: ${fault}`]);
    const [whole] = fleet?.set.versions.filter(({ id }) => id === 'm') ?? [];
    const fields = Object.fromEntries(
      Object.entries(whole?.document ?? {}).filter(([name]) => name !== '_id'),
    );
    const locks = fleet?.members[0]?.db.collection<{ _id: string }>('distributed.locks');
    await locks?.updateOne({ _id: 'm' }, { $set: fields });
    await fleet?.set.settle();
    expect(fleet?.set.violations()).toHaveLength(1);
    await locks?.deleteOne({ _id: 'm' });
    await fleet?.set.settle();
    expect(fleet?.set.violations()[1]?.what).toMatch(/^the document vanishes with the lease/);
  });

  it.each([
    [{ $set: { readers: 5 } }, 'r', 'readers is 5, not an array'],
    [{ $set: { 'readers.0': null } }, 'r', 'readers.0 is null, not an object'],
    [{ $unset: { 'holders.0.permits': '' } }, 's', 'holders.0.permits is missing, not a whole number'],
    [{ $unset: { limit: '' } }, 's', 'limit is missing, not a whole number'],
  ])('a corrupt lock of several holders: %j', async (update, id, fault) => {
    expect(await planted(update, id)).toEqual([`S1 ${id}: it is no lock document: ${fault}`]);
  });

  it('nothing in a document of the application whose _id only looks like the name of a lock', async () => {
    fleet = new Fleet(41);
    const { set, members } = fleet;
    const [member] = members;
    if (member === undefined) throw new Error('no process');
    await keepHold(member.locks.createMutex('5').acquire());
    await member.db.collection<{ _id: number }>('distributed.locks').insertOne({ _id: 5 });
    await set.settle();
    expect(set.violations()).toEqual([]);
  });
});
