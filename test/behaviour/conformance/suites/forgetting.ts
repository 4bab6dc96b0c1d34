import { expect, it } from 'vitest';

import type { AbandonedEvent, Hold } from '../../../../src/index.js';
import { eventually, later } from '../../../../lab/patience.js';
import { collectGarbage, collectNow } from '../../../support/collect-garbage.js';
import { describeOnServers } from '../../../support/on-servers.js';
import type { ExclusiveLock } from '../adapters.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

/** A function of its own, so that no variable of a test keeps the handle. */
async function takeAndForget(lock: ExclusiveLock): Promise<void> {
  // eslint-disable-next-line no-restricted-syntax -- the handle is to be collected
  await lock.acquire();
}

/** Leaves only a listener of the signal; the program has no reference to the handle or to its signal. */
async function takeAndListen(lock: ExclusiveLock, onLost: () => void): Promise<void> {
  const { signal } = await lock.acquire();
  signal.addEventListener('abort', onLost);
}

async function takeAndKeep(lock: ExclusiveLock, which: 'signal' | 'releaseRequested'): Promise<AbortSignal> {
  const hold: Hold = await lock.acquire();
  return hold[which];
}

/** A handle without any reference releases its lock. The leases here are far longer than the tests. */
export function forgetting(subject: Subject): void {
  describeOnServers.concurrent('a handle without a reference', () => {
    it('releases its lock and is reported', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const abandoned: AbandonedEvent[] = [];
      world.here.on('abandoned', (event) => abandoned.push(event));
      await takeAndForget(world.openHere(name));
      const lock = world.openThere(name);
      const next = await eventually('the lock is free', () => {
        collectGarbage();
        return lock.tryAcquire();
      });
      expect(next.isHeld).toBe(true);
      const reported = abandoned.map(({ lockName }) => lockName);
      expect(reported).toEqual(expect.arrayContaining([...subject.adapter.documentsOf(name)]));
    });

    it('releases its lock for a waiter', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      await takeAndForget(world.openHere(name));
      let granted: Hold | undefined;
      const next = later(world.openThere(name).acquire());
      void next.then((hold) => (granted = hold));
      await eventually('the grant', () => {
        collectGarbage();
        return granted;
      });
      expect((await next).isHeld).toBe(true);
    });

    it('keeps its lock while its signal has a listener, and reports a loss to that', async () => {
      await using world = new LockWorld(subject);
      const [name, control] = [await world.name(), await world.name()];
      const abandoned = new Set<string>();
      world.here.on('abandoned', ({ lockName }) => abandoned.add(lockName));
      let losses = 0;
      await takeAndListen(world.openHere(name), () => (losses += 1));
      await takeAndForget(world.openHere(control));
      const [document] = subject.adapter.documentsOf(name);
      const [controlDocument] = subject.adapter.documentsOf(control);
      await eventually('the other handle is collected', () => {
        collectGarbage();
        return abandoned.has(controlDocument);
      });
      expect([...abandoned]).not.toContain(document);
      await world.here.revoke(document, { force: true });
      await eventually('the loss is reported', () => losses === 1);
    });

    it.each(['signal', 'releaseRequested'] as const)(
      'keeps its lock while its %s is referenced',
      async (which) => {
        await using world = new LockWorld(subject);
        const name = await world.name();
        const control = await world.name();
        const abandoned = new Set<string>();
        world.here.on('abandoned', ({ lockName }) => abandoned.add(lockName));
        const signal = await takeAndKeep(world.openHere(name), which);
        // Its collection proves that the collector has run since.
        await takeAndForget(world.openHere(control));
        const [controlDocument] = subject.adapter.documentsOf(control);
        await eventually('the other handle is collected', () => {
          collectGarbage();
          return abandoned.has(controlDocument);
        });
        for (let round = 0; round < 3; round += 1) {
          collectNow();
          await new Promise(setImmediate);
        }
        expect([...abandoned]).not.toContain(subject.adapter.documentsOf(name)[0]);
        expect(await world.openThere(name).tryAcquire()).toBeNull();
        expect(signal.aborted).toBe(false);
      },
    );

    it('releases nothing if it was released before', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const abandoned = new Set<string>();
      world.here.on('abandoned', ({ lockName }) => abandoned.add(lockName));
      await world.openHere(name).use(() => undefined);
      const next = await world.openThere(name).acquire();
      // The collector may keep a single object for long; of several, some are collected soon.
      const controls = await Promise.all(Array.from({ length: 5 }, () => world.name()));
      for (const control of controls) await takeAndForget(world.openHere(control));
      const ofControls = controls.flatMap((control) => subject.adapter.documentsOf(control));
      await eventually('other handles are collected', () => {
        collectGarbage();
        return ofControls.some((document) => abandoned.has(document));
      });
      for (let round = 0; round < 3; round += 1) {
        collectNow();
        await new Promise(setImmediate);
      }
      expect([...abandoned].filter((document) => !ofControls.includes(document))).toEqual([]);
      await next.confirm();
    });
  });
}
