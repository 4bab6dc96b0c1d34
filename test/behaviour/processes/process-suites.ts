import { describe, expect, it } from 'vitest';

import type { Wakeups } from '../../../src/index.js';
import { later, staysOpen, within } from '../../../lab/patience.js';
import { useProgram } from '../../support/built-program.js';
import { beliefIn, beliefsOf, expectDisjoint } from './beliefs.js';
import { deaths } from './deaths.js';
import { endings } from './endings.js';
import { pauses } from './pauses.js';
import { ProcessWorld } from './process-world.js';

/** Runs the tests with real processes, each with a client and a provider of its own. */
export function runProcessSuites(wakeups: Wakeups): void {
  const subject = { wakeups, program: useProgram(new URL('worker.ts', import.meta.url)) };

  describe.concurrent(`between processes (wakeups: ${wakeups})`, () => {
    it('a lock that another process holds is busy, and goes to the waiter when it is released', async () => {
      await using world = new ProcessWorld(subject);
      const worker = await world.worker();
      const { token } = await worker.tell({ do: 'acquire' }, 'granted');
      const mutex = world.provider().createMutex(world.lockName);
      expect(await mutex.tryAcquire()).toBeNull();
      const wait = later(mutex.acquire());
      await world.untilWaiting(1);
      expect(await staysOpen(wait, 100)).toBe(true);
      worker.order({ do: 'release' });
      const hold = await within(10_000, 'the hand-off', wait);
      const belief = beliefIn(hold);
      expect(hold.fencingToken).toBeGreaterThan(token);
      expect(await worker.heard('released')).toMatchObject({ wasHeld: true });
      expectDisjoint([...beliefsOf(worker.lines), belief]);
      expect(await worker.tell({ do: 'try' }, 'not granted')).toMatchObject({ code: 'null' });
    });

    deaths(subject);
    pauses(subject);
    endings(subject);
  });

  describe(`several processes that take turns with a lock (wakeups: ${wakeups})`, () => {
    it('never believe at the same time that they hold it, and their tokens rise from grant to grant', async () => {
      await using world = new ProcessWorld(subject, { leaseMs: 10_000, pollMs: { min: 5, max: 50 } });
      const [processes, rounds] = [4, 15];
      const workers = await world.workers(processes);
      for (const worker of workers) worker.order({ do: 'rounds', count: rounds });
      await Promise.all(workers.map((worker) => worker.heard('released', rounds)));
      const beliefs = workers.flatMap(({ lines }) => beliefsOf(lines));
      expect(beliefs).toHaveLength(processes * rounds);
      expectDisjoint(beliefs);
      for (const worker of workers) {
        expect(worker.all('released').every(({ wasHeld }) => wasHeld)).toBe(true);
        expect(worker.all('signalled')).toEqual([]);
      }
    });
  });
}
