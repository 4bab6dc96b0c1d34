import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { MODES_OF_WAITING, PRIMITIVES } from './adapters.js';
import type { ModeOfWaiting } from './adapters.js';
import type * as LockSuites from './lock-suites.js';
import type { Subject } from './lock-world.js';
import type * as OwnSuites from './own-suites.js';

/** What a way of making a lock has to bring along. */
interface BroughtAlong {
  /** As how many primitives it is run as a mutex. */
  readonly asMutex: number;
  /** The suites of what it does beyond a mutex. */
  readonly own?: string;
}

const BROUGHT_ALONG: Readonly<Record<string, BroughtAlong>> = {
  // As it is, and with a seat that is kept.
  createMutex: { asMutex: 2 },
  // As a write lock and as an upgradeable one.
  createReaderWriterLock: { asMutex: 2, own: 'reader-writer' },
  // With one seat, kept or not, and with four of five taken.
  createSemaphore: { asMutex: 3, own: 'semaphore' },
  acquireAll: { asMutex: 1, own: 'all-or-nothing' },
  // These make no lock that could be a mutex.
  createLeaderElection: { asMutex: 0 },
  createScheduledJob: { asMutex: 0 },
};

const ran: string[] = [];

const combination = (what: string, wakeups: ModeOfWaiting): string => `${what} × ${wakeups}`;

vi.mock('./lock-suites.js', () => ({
  runLockSuites: ({ adapter, wakeups }: Subject) => ran.push(combination(adapter.primitive, wakeups)),
}));

vi.mock('./own-suites.js', () => ({
  runOwnSuites: (own: string, wakeups: ModeOfWaiting) => ran.push(combination(own, wakeups)),
}));

const actualOwnSuites = async (): Promise<Readonly<Record<string, object>>> =>
  (await vi.importActual<typeof OwnSuites>('./own-suites.js')).OWN_SUITES;

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(import.meta.dirname, folder)).map((file) => file.replace(/\.ts$/, ''));

const waysOfMaking = Object.getOwnPropertyNames(LockProvider.prototype).filter((name) =>
  /^create[A-Z]|^acquireAll$/.test(name),
);

describe('the conformance suites', () => {
  it('run for every declared primitive in every mode of waiting, once', async () => {
    const files = readdirSync(import.meta.dirname).filter(
      (file) => file.endsWith('.test.ts') && MODES_OF_WAITING.some((mode) => file.includes(`.${mode}.`)),
    );
    for (const file of files) await import(/* @vite-ignore */ join(import.meta.dirname, file));
    const declared = [...PRIMITIVES, ...Object.keys(await actualOwnSuites())];
    const expected = declared.flatMap((what) => MODES_OF_WAITING.map((mode) => combination(what, mode)));
    expect(ran.sort()).toEqual(expected.sort());
  });

  it('leave none of themselves out', async () => {
    const { SUITES } = await vi.importActual<typeof LockSuites>('./lock-suites.js');
    expect(Object.keys(SUITES).sort()).toEqual([...filesIn('suites')].sort());
    for (const [own, suites] of Object.entries(await actualOwnSuites())) {
      expect(Object.keys(suites).sort()).toEqual([...filesIn(`${own}-suites`)].sort());
    }
    const folders = readdirSync(import.meta.dirname).filter((file) => file.endsWith('-suites'));
    const owned = Object.keys(await actualOwnSuites()).map((own) => `${own}-suites`);
    expect(folders.sort()).toEqual(owned.sort());
  });

  it('know every way of making a lock that a provider has', async () => {
    expect(waysOfMaking).toContain('createMutex');
    expect(waysOfMaking.filter((way) => BROUGHT_ALONG[way] === undefined)).toEqual([]);
    const brought = waysOfMaking.flatMap((way) => BROUGHT_ALONG[way] ?? []);
    expect(PRIMITIVES).toHaveLength(brought.reduce((sum, { asMutex }) => sum + asMutex, 0));
    const own = brought.flatMap((each) => each.own ?? []);
    expect(Object.keys(await actualOwnSuites()).sort()).toEqual(own.sort());
  });
});
