import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { MODES_OF_WAITING, PRIMITIVES } from './adapters.js';
import type { ModeOfWaiting } from './adapters.js';
import type * as LockSuites from './lock-suites.js';
import type { Subject } from './lock-world.js';
import type * as OwnSuites from './own-suites.js';
import type { OwnSubject } from './two-providers.js';

/** The suites that a way of making a lock must run. */
interface RequiredSuites {
  /** For how many primitives made in this way the suites of a mutex run. */
  readonly asMutex: number;
  /** The suites for what it does beyond a mutex. */
  readonly own?: string;
}

const REQUIRED_SUITES: Readonly<Record<string, RequiredSuites>> = {
  // Plain, and with a kept seat.
  createMutex: { asMutex: 2 },
  // As a write lock and as an upgradeable read.
  createReaderWriterLock: { asMutex: 2, own: 'reader-writer' },
  // With one permit, kept or not, and with four of five permits in use.
  createSemaphore: { asMutex: 3, own: 'semaphore' },
  // It takes plain mutexes, and mutexes with kept seats.
  acquireAll: { asMutex: 2, own: 'all-or-nothing' },
  // These make no lock that could be a mutex.
  createLeaderElection: { asMutex: 0 },
  createScheduledJob: { asMutex: 0 },
};

const ran: string[] = [];

const kept = (own: string): string => `kept ${own}`;

const combination = (what: string, wakeups: ModeOfWaiting): string => `${what} × ${wakeups}`;

vi.mock('./lock-suites.js', () => ({
  runLockSuites: ({ adapter, wakeups }: Subject) => ran.push(combination(adapter.primitive, wakeups)),
}));

vi.mock('./own-suites.js', () => ({
  runOwnSuites: (own: string, { wakeups, keeps }: OwnSubject) =>
    ran.push(combination(keeps ? kept(own) : own, wakeups)),
}));

const actual = async (): Promise<typeof OwnSuites> => await vi.importActual('./own-suites.js');

const actualOwnSuites = async (): Promise<Readonly<Record<string, object>>> => (await actual()).OWN_SUITES;

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(import.meta.dirname, folder)).map((file) => file.replace(/\.ts$/, ''));

const waysOfMaking = Object.getOwnPropertyNames(LockProvider.prototype).filter((name) =>
  /^create[A-Z]|^acquireAll$/.test(name),
);

describe('the conformance suites', () => {
  it('run once for every declared primitive in every mode of waiting', async () => {
    const files = readdirSync(import.meta.dirname).filter(
      (file) => file.endsWith('.test.ts') && MODES_OF_WAITING.some((mode) => file.includes(`.${mode}.`)),
    );
    for (const file of files) await import(/* @vite-ignore */ join(import.meta.dirname, file));
    const { OWN_SUITES, KEPT } = await actual();
    const declared = [...PRIMITIVES, ...Object.keys(OWN_SUITES), ...KEPT.map(kept)];
    const expected = declared.flatMap((what) => MODES_OF_WAITING.map((mode) => combination(what, mode)));
    expect(ran.sort()).toEqual(expected.sort());
  });

  it('include every file and folder of suites', async () => {
    const { SUITES } = await vi.importActual<typeof LockSuites>('./lock-suites.js');
    expect(Object.keys(SUITES).sort()).toEqual([...filesIn('suites')].sort());
    for (const [own, suites] of Object.entries(await actualOwnSuites())) {
      expect(Object.keys(suites).sort()).toEqual([...filesIn(`${own}-suites`)].sort());
    }
    const folders = readdirSync(import.meta.dirname).filter((file) => file.endsWith('-suites'));
    const owned = Object.keys(await actualOwnSuites()).map((own) => `${own}-suites`);
    expect(folders.sort()).toEqual(owned.sort());
  });

  it('cover every method of a provider that makes a lock', async () => {
    expect(waysOfMaking).toContain('createMutex');
    expect(waysOfMaking.filter((way) => REQUIRED_SUITES[way] === undefined)).toEqual([]);
    const required = waysOfMaking.flatMap((way) => REQUIRED_SUITES[way] ?? []);
    expect(PRIMITIVES).toHaveLength(required.reduce((sum, { asMutex }) => sum + asMutex, 0));
    const own = required.flatMap((each) => each.own ?? []);
    expect(Object.keys(await actualOwnSuites()).sort()).toEqual(own.sort());
  });
});
