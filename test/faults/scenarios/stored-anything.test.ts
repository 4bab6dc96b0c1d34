import fc from 'fast-check';
import type { Collection } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { LeaseholdError } from '../../../src/index.js';
import type {
  AcquireOptions,
  Hold,
  LockHandle,
  LockProvider,
  ReaderWriterHandle,
} from '../../../src/index.js';
import { wellFormedProjection } from '../../../src/protocol/pipeline/verdict.js';
import { lockDocument } from '../../model/documents/corruptions.js';
import { ALL_SEATS } from '../../model/documents/lock-kinds.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import { BUSY_MACHINE_MS, eventually, later, within } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { mutated, mutation } from './mutations.js';

type Kind = 'mutex' | 'reader-writer' | 'semaphore';
type Json = Readonly<Record<string, unknown>>;
type Locks = Collection<{ _id: string }>;

const RUNS: Readonly<Record<Kind, number>> = { mutex: 60, 'reader-writer': 40, semaphore: 60 };
const LIMIT = 3;
const BRIEFLY = { timeoutMs: 40 };

async function take(locks: LockProvider, kind: Kind, name: string): Promise<LockHandle | ReaderWriterHandle> {
  if (kind === 'mutex') return await locks.acquireMutex(name);
  if (kind === 'semaphore') return await locks.createSemaphore(name, LIMIT).acquire();
  return await locks.createReaderWriterLock(name).acquireUpgradeableRead();
}

/** What is waited for until the signal aborts; `null` if it aborts first. */
async function untilAborted<T>(signal: AbortSignal, waiting: Promise<T>): Promise<T | null> {
  try {
    return await waiting;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return null;
    throw error;
  }
}

/** Waits for the lock until the signal aborts. */
function waitFor(locks: LockProvider, kind: Kind, name: string, signal: AbortSignal): Promise<Hold> {
  const all = { signal, permits: LIMIT };
  if (kind === 'mutex') return locks.acquireMutex(name, { signal });
  if (kind === 'semaphore') return locks.createSemaphore(name, LIMIT).acquire(all);
  return locks.createReaderWriterLock(name).acquireWrite({ signal });
}

/** The document with the real holder and the real waiter, and with those of a made document. */
async function populated(locks: Locks, kind: Kind, name: string): Promise<Json> {
  const stored = (await locks.findOne(
    { _id: name },
    { promoteLongs: false, promoteValues: false },
  )) as unknown as Json;
  const made = lockDocument(kind, name) as Json;
  const others = (field: string): unknown[] => ((made[field] ?? []) as unknown[]).slice(1);
  const queue = { ...(stored['queue'] as Json), ...(made['queue'] as Json) };
  if (kind === 'mutex') return { ...stored, queue };
  const field = kind === 'semaphore' ? 'holders' : 'readers';
  return { ...stored, queue, [field]: [...(stored[field] as unknown[]), ...others(field)] };
}

interface Waited {
  readonly queue: Json;
  readonly readers?: readonly { readonly upgrading?: boolean }[];
}

type Ask = (locks: LockProvider, name: string, hold: LockHandle | ReaderWriterHandle) => Promise<unknown>;

/** What an upgrade that was granted gives. */
const UPGRADED = 'upgraded';

/** `null`: the hold has one mode alone. */
async function upgraded(
  hold: LockHandle | ReaderWriterHandle,
  options: AcquireOptions,
): Promise<typeof UPGRADED | null> {
  if (!('upgrade' in hold)) return null;
  await hold.upgrade(options);
  return UPGRADED;
}

/** The calls that any process may make on a lock. */
const ASKS: Readonly<Record<string, Ask>> = {
  tryMutex: (locks, name) => locks.tryAcquireMutex(name),
  tryRead: (locks, name) => locks.createReaderWriterLock(name).tryAcquireRead(),
  tryUpgradeable: (locks, name) => locks.createReaderWriterLock(name).tryAcquireUpgradeableRead(),
  tryWrite: (locks, name) => locks.createReaderWriterLock(name).tryAcquireWrite(),
  tryPermit: (locks, name) => locks.createSemaphore(name, LIMIT).tryAcquire(),
  followPermit: (locks, name) => locks.createSemaphore(name, 7, { whenLimitDiffers: 'follow' }).tryAcquire(),
  mutex: (locks, name) => locks.acquireMutex(name, BRIEFLY),
  write: (locks, name) => locks.createReaderWriterLock(name).acquireWrite(BRIEFLY),
  permit: (locks, name) => locks.createSemaphore(name, LIMIT).acquire(BRIEFLY),
  inspect: (locks, name) => locks.inspect(name),
  list: async (locks, name) => {
    for await (const snapshot of locks.list({ prefix: name })) return snapshot;
    return null;
  },
  revoke: (locks, name) => locks.revoke(name),
  evict: (locks, name) => locks.revoke(name, { force: true }),
  resize: (locks, name) => locks.createSemaphore(name, LIMIT).resize(LIMIT + 1),
  available: (locks, name) => locks.createSemaphore(name, LIMIT).available(),
  confirm: (_, __, hold) => hold.confirm(),
  upgrade: (_, __, hold) => upgraded(hold, BRIEFLY),
};

/** The calls that have to report a corrupt document. Calls that only read show what they can. */
const REQUESTS = /^(try|follow|mutex|write|permit|resize)/;

interface Heard {
  readonly what: string;
  readonly value?: unknown;
  readonly error?: unknown;
}

const isHold = (value: unknown): value is Hold =>
  typeof value === 'object' && value !== null && 'release' in value && 'isHeld' in value;

async function hear(what: string, asked: Promise<unknown>): Promise<Heard> {
  try {
    return { what, value: await within(BUSY_MACHINE_MS, what, asked) };
  } catch (error) {
    return { what, error };
  }
}

describe.concurrent.each(['mutex', 'reader-writer', 'semaphore'] as const)(
  'a randomly changed %s document',
  (kind) => {
    it('makes every call end with a typed error or with a result that a legal document allows', async () => {
      await using database = new OwnDatabase();
      const options = {
        ...{ leaseMs: 30_000, extendEveryMs: 1_500 },
        ...{ storeTimeoutMs: 30_000, createIndexes: false },
      };
      const [here, there] = [database.client().provider(options), database.client().provider(options)];
      const stored: Locks = database.plain.db.collection('distributed.locks');
      const image = async (name: string): Promise<string> => {
        const raw = (await stored.findOne({ _id: name }, { raw: true })) as unknown as Buffer;
        return raw.toString('hex');
      };
      const isLegal = async (name: string): Promise<boolean> => {
        for (const rules of ALL_SEATS) {
          const found = await stored.findOne({ _id: name }, { projection: wellFormedProjection(rules) });
          if ((found as Json | null)?.['isWellFormed'] === true) return true;
        }
        return false;
      };
      // This hold is in the same batches of extensions as the corrupt documents.
      const healthy = await here.acquireMutex('healthy');
      let corrupt = 0;

      const property = fc.asyncProperty(
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        fc.shuffledSubarray(Object.keys(ASKS), { minLength: 3, maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        async (mutations, asks, isParallel, isPending) => {
          const name = randomName('lock');
          const hold = await take(here, kind, name);
          const waiter = new AbortController();
          const { signal } = waiter;
          const reader =
            kind === 'reader-writer' ? await there.createReaderWriterLock(name).tryAcquireRead() : null;
          const wait = later(untilAborted(signal, waitFor(there, kind, name, signal)));
          const upgrade =
            isPending && 'upgrade' in hold
              ? later(untilAborted(signal, upgraded(hold, { signal })))
              : undefined;
          await eventually('they wait', async () => {
            const { queue, readers = [] } = (await stored.findOne({ _id: name })) as unknown as Waited;
            const isUpgrading = readers.some(({ upgrading }) => upgrading === true);
            return Object.keys(queue).length === 1 && (upgrade === undefined || isUpgrading);
          });
          const document = mutations.reduce(mutated, await populated(stored, kind, name));
          await stored.updateOne({ _id: name }, [{ $replaceWith: { $literal: document } }]);
          const wasLegal = await isLegal(name);
          const before = await image(name);

          const heard: Heard[] = [];
          const ask = async (what: string): Promise<void> => {
            const answer = await hear(what, ASKS[what]?.(there, name, hold) ?? Promise.resolve());
            heard.push(answer);
            if (isHold(answer.value)) await answer.value.release();
          };
          if (isParallel) await Promise.all(asks.map(ask));
          else for (const what of asks) await ask(what);
          waiter.abort();
          if (upgrade !== undefined) heard.push(await hear('pending upgrade', upgrade));
          const waited = await hear('wait', wait);
          heard.push(waited);
          if (isHold(waited.value)) await waited.value.release();
          heard.push(await hear('release', hold.release()));
          await reader?.release();

          for (const { what, error } of heard) {
            if (error !== undefined) expect(error, what).toBeInstanceOf(LeaseholdError);
          }
          if (wasLegal) {
            // All grants came by legal transitions, which leave a legal document behind (S1).
            expect(await isLegal(name)).toBe(true);
            return;
          }
          corrupt += 1;
          expect(await image(name)).toBe(before);
          const granted = heard.filter(({ value }) => isHold(value) || value === UPGRADED);
          expect(granted.map(({ what }) => what)).toEqual([]);
          const codes = heard
            .filter(({ what }) => REQUESTS.test(what))
            .map(({ what, error }) => [what, (error as LeaseholdError | undefined)?.code ?? 'none'] as const);
          // If the time was up before the answer came, the error is a timeout.
          const wrong = codes.filter(([, code]) => !/CORRUPT|KIND_MISMATCH|ACQUIRE_TIMEOUT/.test(code));
          expect(wrong).toEqual([]);
        },
      );
      await fc.assert(property, { seed: drawSeed(`stored documents, ${kind}`), numRuns: RUNS[kind] });
      console.log(`${kind}: ${corrupt} of ${RUNS[kind]} documents were corrupt`);
      expect(healthy.isHeld).toBe(true);
      await eventually('it is extended all the same', () => healthy.remainingMs > 26_000);
      await later(here.close({ drainMs: 0 }));
    });
  },
);
