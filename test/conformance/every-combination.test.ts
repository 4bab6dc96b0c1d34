import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LockProvider } from '../../src/index.js';
import { MODES_OF_WAITING, PRIMITIVES } from './adapters.js';
import type { Primitive } from './adapters.js';
import type * as LockSuites from './lock-suites.js';
import type { Subject } from './lock-world.js';

/** What each way of making a lock has to bring along; nothing where it makes no lock that could be a mutex. */
const BROUGHT_ALONG: Readonly<Record<string, number>> = {
  createMutex: 1,
  // As a write lock and as an upgradeable one.
  createReaderWriterLock: 2,
  // With one seat, and with four of five taken.
  createSemaphore: 2,
  acquireAll: 1,
  createLeaderElection: 0,
  createScheduledJob: 0,
};

const ran: Subject[] = [];

vi.mock('./lock-suites.js', () => ({ runLockSuites: (subject: Subject) => ran.push(subject) }));

const combination = (primitive: Primitive, wakeups: string): string => `${primitive} × ${wakeups}`;

describe('the conformance suites', () => {
  it('run for every declared primitive in every mode of waiting, once', async () => {
    const files = readdirSync(import.meta.dirname).filter(
      (file) => file.endsWith('.test.ts') && MODES_OF_WAITING.some((mode) => file.includes(`.${mode}.`)),
    );
    for (const file of files) await import(/* @vite-ignore */ join(import.meta.dirname, file));
    const expected = PRIMITIVES.flatMap((primitive) =>
      MODES_OF_WAITING.map((wakeups) => combination(primitive, wakeups)),
    );
    const found = ran.map(({ adapter, wakeups }) => combination(adapter.primitive, wakeups));
    expect(found.sort()).toEqual(expected.sort());
  });

  it('leave none of themselves out', async () => {
    const { SUITES } = await vi.importActual<typeof LockSuites>('./lock-suites.js');
    const files = readdirSync(join(import.meta.dirname, 'suites')).map((file) => file.replace(/\.ts$/, ''));
    expect(Object.keys(SUITES).sort()).toEqual(files.sort());
  });

  it('know every way of making a lock that a provider has', () => {
    const ways = Object.getOwnPropertyNames(LockProvider.prototype).filter((name) =>
      /^create[A-Z]|^acquireAll$/.test(name),
    );
    expect(ways).toContain('createMutex');
    expect(ways.filter((way) => BROUGHT_ALONG[way] === undefined)).toEqual([]);
    const brought = ways.reduce((sum, way) => sum + (BROUGHT_ALONG[way] ?? 0), 0);
    expect(PRIMITIVES).toHaveLength(brought);
  });
});
