import { describe, expect, it } from 'vitest';

import { eventually } from '../../../../lab/patience.js';
import { describeOnServers } from '../../../support/on-servers.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

const TTL_INDEX = { key: { purgeAt: 1 }, expireAfterSeconds: 0 };

/** Where locks are stored, and the index that purges them. */
export function storing(subject: Subject): void {
  const indexesOf = async (world: LockWorld, collection = 'distributed.locks'): Promise<unknown[]> => {
    const stored = world.database.plain.db.collection(collection);
    const isThere =
      (await world.database.plain.db.listCollections({ name: collection }).toArray()).length > 0;
    return isThere ? await stored.indexes() : [];
  };

  describe.concurrent('the collection', () => {
    it('is the one that collectionName sets, and a name in another collection is another lock', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const apart = world.provider(world.database.client(), { collectionName: 'locks.of.mine' });
      await subject.adapter.prepare(apart, name);
      const here = await world.openHere(name).acquire();
      const there = await subject.adapter.open(apart, name).tryAcquire();
      expect([here.isHeld, there?.isHeld]).toEqual([true, true]);
      for (const collection of ['distributed.locks', 'locks.of.mine']) {
        const documents = world.database.plain.db.collection<{ _id: string }>(collection);
        for (const _id of subject.adapter.documentsOf(name)) {
          expect(await documents.countDocuments({ _id })).toBe(1);
        }
      }
    });

    it('is shared by providers of different clients', async () => {
      await using world = new LockWorld(subject, { collectionName: 'shared' });
      const name = await world.name();
      await using hold = await world.openHere(name).acquire();
      expect(hold.isHeld).toBe(true);
      expect(await world.openThere(name).tryAcquire()).toBeNull();
    });
  });

  describeOnServers.concurrent('the purge index', () => {
    it('is created once, after the first grant, and not after requests without a grant', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const client = world.database.client();
      const locks = world.provider(client, { createIndexes: true });
      await using hold = await world.openHere(name).acquire();
      expect(await subject.adapter.open(locks, name).tryAcquire()).toBeNull();
      expect(await subject.adapter.open(locks, name).tryAcquire({ timeoutMs: 20 })).toBeNull();
      expect(client.count('createIndexes')).toBe(0);
      await hold.release();

      for (let round = 0; round < 3; round += 1) await subject.adapter.open(locks, name).use(() => 1);
      await eventually('the index', async () => {
        return (await indexesOf(world)).some((index) => (index as { name: string }).name !== '_id_');
      });
      expect(await indexesOf(world)).toContainEqual(expect.objectContaining(TTL_INDEX));
      expect(client.count('createIndexes')).toBe(1);
    });

    it('is created only by ensureIndexes() if createIndexes is false', async () => {
      await using world = new LockWorld(subject, { createIndexes: false });
      await world.openHere(await world.name()).use(() => 1);
      expect(world.hereClient.count('createIndexes')).toBe(0);
      await world.here.ensureIndexes();
      await world.here.ensureIndexes();
      expect(await indexesOf(world)).toContainEqual(expect.objectContaining(TTL_INDEX));
    });

    it('causes an event and no failed request if it cannot be created', async () => {
      await using world = new LockWorld(subject);
      await world.database.plain.db.command({
        createIndexes: 'distributed.locks',
        indexes: [{ key: { purgeAt: 1 }, name: 'purgeAt_1', expireAfterSeconds: 3_600 }],
      });
      const client = world.database.client();
      const locks = world.provider(client, { createIndexes: true });
      const errors: unknown[] = [];
      locks.on('indexError', ({ error }) => errors.push(error));
      const name = await world.name();
      const hold = await subject.adapter.open(locks, name).acquire();
      const error = await eventually('the event', () => errors[0]);
      expect(error).toBeInstanceOf(Error);
      await hold.confirm();
      expect(await hold.release()).toBe(true);
      // The index is not tried again at every grant.
      await subject.adapter.open(locks, name).use(() => 1);
      expect(client.count('createIndexes')).toBe(1);
      expect(errors).toHaveLength(1);
      await expect(locks.ensureIndexes()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    });
  });
}
