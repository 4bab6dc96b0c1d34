import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { OwnDatabase } from '../../support/own-database.js';
import { eventually, later, within } from '../../../lab/patience.js';
import type { EndingTask } from './ending-worker.js';

/** Inside the project, so that the program finds its dependencies. */
const CACHE = fileURLToPath(new URL('../../../.cache/', import.meta.url));

let folder: string;

beforeAll(async () => {
  await mkdir(CACHE, { recursive: true });
  folder = await mkdtemp(join(CACHE, 'ending-worker-'));
  const entry = { worker: fileURLToPath(new URL('ending-worker.ts', import.meta.url)) };
  await build({ config: false, entry, outDir: folder, format: 'esm', target: 'node20', silent: true });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A worker that holds `mine` and waits for `theirs`. */
class Worker implements AsyncDisposable {
  readonly child: Child;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  #said = '';

  constructor(task: EndingTask) {
    this.child = spawn(process.execPath, [join(folder, 'worker.js'), JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
    // Its error output is read and thrown away.
    this.child.stderr.resume();
    this.ended = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
  }

  async waiting(): Promise<void> {
    await eventually('it waits', () => this.#said.includes('waiting'));
  }

  order(order: string): void {
    this.child.stdin.write(`${order}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.ended;
  }
}

const LEASE_MS = 2_000;

/** How much longer than its lease a dead process may block its locks on a busy machine. */
const SLACK_MS = 5_000;

interface End {
  readonly end: (worker: Worker) => unknown;
  readonly how: object;
}

const ENDS: Readonly<Record<string, End>> = {
  'by an unhandled SIGTERM': {
    end: ({ child }) => child.kill('SIGTERM'),
    how: { code: null, signal: 'SIGTERM' },
  },
  'by an unhandled SIGINT': {
    end: ({ child }) => child.kill('SIGINT'),
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
      await using database = new OwnDatabase(inject('mongoUri'));
      const [holder, heir] = [0, 1].map(() =>
        database.client().provider({ leaseMs: 60_000, createIndexes: false }),
      );
      if (holder === undefined || heir === undefined) throw new Error('there are two');
      const theirs = await holder.acquireMutex('theirs');
      await using worker = new Worker({
        uri: database.uri,
        database: database.name,
        leaseMs: LEASE_MS,
        isPolite: false,
      });
      await worker.waiting();
      const mine = (await heir.inspect('mine'))?.holders[0];
      const waits = ['mine', 'theirs'].map((name) => later(heir.acquireMutex(name)));
      await eventually('both are waited for', async () => {
        const counts = await Promise.all(['mine', 'theirs'].map((name) => heir.inspect(name)));
        return counts[0]?.waiters.length === 1 && counts[1]?.waiters.length === 2;
      });
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
    await using database = new OwnDatabase(inject('mongoUri'));
    const heir = database.client().provider({ leaseMs: 60_000, createIndexes: false });
    const theirs = await heir.acquireMutex('theirs');
    await using worker = new Worker({
      uri: database.uri,
      database: database.name,
      leaseMs: 60_000,
      isPolite: true,
    });
    await worker.waiting();
    const wait = later(heir.acquireMutex('mine'));
    await eventually('it is waited for', async () => (await heir.inspect('mine'))?.waiters.length === 1);
    worker.child.kill('SIGTERM');
    await within(10_000, 'the grant', wait);
    expect(await within(10_000, 'its end', worker.ended)).toEqual({ code: 0, signal: null });
    expect((await heir.inspect('theirs'))?.waiters).toEqual([]);
    expect(await theirs.release()).toBe(true);
  });
});
