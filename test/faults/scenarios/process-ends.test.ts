import { describe, expect, it } from 'vitest';

import { Child } from '../../../lab/processes/child.js';
import { useProgram } from '../../support/built-program.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { later, within } from '../../../lab/patience.js';
import type { EndingOrder, EndingTask } from './ending-worker.js';
import { untilWaiting } from '../../support/waiters.js';

const program = useProgram(new URL('ending-worker.ts', import.meta.url));

/** A worker that holds `mine` and waits for `theirs`. */
type Worker = Child<EndingOrder, { readonly says: 'waiting' }>;

const start = (task: EndingTask): Worker => new Child([program.path, JSON.stringify(task)]);

const LEASE_MS = 8_000;

/** How much longer than its lease a dead process may block its locks on a busy machine. */
const SLACK_MS = 20_000;

interface End {
  readonly end: (worker: Worker) => void;
  readonly how: object;
}

const ENDS: Readonly<Record<string, End>> = {
  'by an unhandled SIGTERM': {
    end: (worker) => {
      worker.signal('SIGTERM');
    },
    how: { code: null, signal: 'SIGTERM' },
  },
  'by an unhandled SIGINT': {
    end: (worker) => {
      worker.signal('SIGINT');
    },
    how: { code: null, signal: 'SIGINT' },
  },
  'by process.exit': {
    end: (worker) => {
      worker.order('exit');
    },
    how: { code: 3 },
  },
  'by an uncaught exception': {
    end: (worker) => {
      worker.order('throw');
    },
    how: { code: 1 },
  },
  'by an unhandled rejection': {
    end: (worker) => {
      worker.order('reject');
    },
    how: { code: 1 },
  },
  'by itself, with its client closed and its provider open': {
    end: (worker) => {
      worker.order('close the client');
    },
    how: { code: 0 },
  },
};

describe.concurrent('a process that holds and waits', () => {
  it.each(Object.entries(ENDS))(
    'blocks its locks for no longer than its lease after it has ended %s',
    async (_, { end, how }) => {
      await using database = new OwnDatabase();
      const [holder, heir] = [0, 1].map(() =>
        database.client().provider({ leaseMs: 180_000, createIndexes: false }),
      );
      if (holder === undefined || heir === undefined) throw new Error('there are two');
      const theirs = await holder.acquireMutex('theirs');
      await using worker = start({
        uri: database.uri,
        database: database.name,
        leaseMs: LEASE_MS,
        isPolite: false,
      });
      await worker.heard('waiting');
      const mine = (await heir.inspect('mine'))?.holders[0];
      const waits = ['mine', 'theirs'].map((name) => later(heir.acquireMutex(name)));
      await untilWaiting(heir, 'mine');
      await untilWaiting(heir, 'theirs', 2);
      end(worker);
      expect(await within(10_000, 'its end', worker.ended)).toMatchObject(how);
      const left = (await heir.inspect('mine'))?.holders[0];
      expect(await theirs.release()).toBe(true);
      const startedMs = performance.now();
      const [next] = await within(LEASE_MS + SLACK_MS, 'both grants', Promise.all(waits));
      const tookMs = performance.now() - startedMs;
      expect(tookMs).toBeLessThan(LEASE_MS + SLACK_MS);
      // Not before the lease that the dead process may have relied on was over, by the server's clock.
      const taken = (await heir.inspect('mine'))?.holders[0];
      expect(taken?.id).toBe(next?.id);
      if (left?.id === mine?.id && taken !== undefined && left !== undefined) {
        expect(taken.acquiredAt.getTime()).toBeGreaterThanOrEqual(left.expiresAt.getTime());
      }
      expect(taken?.token).toBeGreaterThan(mine?.token ?? Infinity);
    },
  );

  it('blocks no lock after it has closed its provider on SIGTERM', async () => {
    await using database = new OwnDatabase();
    const heir = database.client().provider({ leaseMs: 60_000, createIndexes: false });
    const theirs = await heir.acquireMutex('theirs');
    await using worker = start({
      uri: database.uri,
      database: database.name,
      leaseMs: 60_000,
      isPolite: true,
    });
    await worker.heard('waiting');
    const wait = later(heir.acquireMutex('mine'));
    await untilWaiting(heir, 'mine');
    worker.signal('SIGTERM');
    await within(10_000, 'the grant', wait);
    expect(await within(10_000, 'its end', worker.ended)).toEqual({ code: 0, signal: null });
    expect((await heir.inspect('theirs'))?.waiters).toEqual([]);
    expect(await theirs.release()).toBe(true);
  });
});
