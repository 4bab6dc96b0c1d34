import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { Document, RunCommandOptions } from 'mongodb';
import { describe, expect, it } from 'vitest';

import {
  AcquireTimeoutError,
  LockKindMismatchError,
  LockProvider,
  ProviderClosedError,
  SemaphoreLimitMismatchError,
  StoreUnavailableError,
} from '../../../src/index.js';
import type { LockProviderOptions, LockRequest } from '../../../src/index.js';
import { eventually, later, pause, rejection, within } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { untilTestEnds } from '../../support/current-test.js';
import { keepHold } from '../../support/keep-hold.js';
import { ownDatabase, twoProviders } from '../../support/test-provider.js';
import type { OwnDatabase } from '../../support/test-provider.js';
import { untilKept } from '../seat-cache/until-kept.js';
import { untilWaiting } from '../../support/waiters.js';

const mutexes = (locks: LockProvider, names: readonly string[]): readonly LockRequest[] =>
  names.map((name) => ({ mutex: locks.createMutex(name) }));

/** The events of these locks from now on, as `acquired a`, `released b` … */
function listen(locks: LockProvider): string[] {
  const events: string[] = [];
  for (const event of ['waiting', 'acquired', 'released', 'lost', 'timeout'] as const) {
    locks.on(event, ({ lockName }) => events.push(`${event} ${lockName}`));
  }
  return events;
}

/** The locks that a command writes. */
const namesIn = ({ findAndModify, query, updates = [] }: Document): readonly string[] => {
  if (findAndModify !== undefined) return [String((query as Document)['_id'])];
  const filters = (
    updates as readonly { readonly q: { readonly _id: string | { readonly $in: string[] } } }[]
  ).map(({ q }) => q._id);
  // A group may name a lock twice: in a statement that creates it, and in the one that gives out its seat.
  return [...new Set(filters.flatMap((filter) => (typeof filter === 'string' ? [filter] : filter.$in)))];
};

/** Called with the locks that a command names. The command waits for the result. */
type Hook = (names: readonly string[]) => Promise<void> | undefined;

/** A provider whose commands a test can see before they are sent, and hold up. */
interface Watched {
  readonly locks: LockProvider;
  /** The locks that the commands so far name, in the order of the commands. */
  readonly asked: string[];
  /** Called before a command is sent. */
  before: Hook;
  /** Called when a command is answered. */
  after: Hook;
}

async function watched(database: OwnDatabase, options: LockProviderOptions = {}): Promise<Watched> {
  const { db } = database.client();
  const command = db.command.bind(db);
  db.command = async (sent: Document, given?: RunCommandOptions) => {
    const names = namesIn(sent);
    its.asked.push(...names);
    await its.before(names);
    const answer = await command(sent, given);
    await its.after(names);
    return answer;
  };
  const locks = new LockProvider(db, { createIndexes: false, ...options });
  untilTestEnds({ [Symbol.asyncDispose]: () => locks.close({ drainMs: 0 }) });
  const its: Watched = { locks, asked: [], before: () => undefined, after: () => undefined };
  // From now on the provider knows the server, so a request sends nothing else first.
  await (await locks.acquireMutex('first contact')).release();
  its.asked.length = 0;
  return its;
}

/** The locks that the provider has asked for until its first request is in a queue. */
const askedUntilQueued = ({ locks, asked }: Watched): Promise<readonly string[]> =>
  new Promise((resolve) => {
    locks.once('waiting', () => {
      resolve([...asked]);
    });
  });

/** A promise that a test resolves. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function untilFree(locks: LockProvider, names: readonly string[]): Promise<void> {
  await eventually('all are free', async (see) => {
    const snapshots = await Promise.all(names.map((name) => locks.inspect(name)));
    const taken = snapshots.flatMap((each) => [...(each?.holders ?? []), ...(each?.waiters ?? [])]);
    return see(taken).length === 0;
  });
}

describe('acquireAll of free locks', () => {
  const NAMES = ['e', 'b', 'd', 'a', 'c'];

  it('asks for all of them before the first answer, in the order of their names', async () => {
    const here = await watched(ownDatabase());
    const { opened, open } = gate();
    here.before = () => opened;
    const taking = later(here.locks.acquireAll(mutexes(here.locks, NAMES)));
    await eventually('all are asked for', (see) => see(here.asked).length === NAMES.length);
    expect(here.asked).toEqual(['a', 'b', 'c', 'd', 'e']);
    open();
    const all = await within(20_000, 'all', taking);
    expect(all.handles.map(({ name, isHeld }) => [name, isHeld])).toEqual(NAMES.map((name) => [name, true]));
    expect(await all.release()).toBe(true);
  });

  it('reports the grants in the order of the names, whatever the order of the answers', async () => {
    const here = await watched(ownDatabase());
    const events = listen(here.locks);
    here.after = async (names) => {
      if (names.some((name) => name < 'c')) await pause(100);
    };
    const all = await here.locks.acquireAll(mutexes(here.locks, NAMES));
    expect(events).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `acquired ${name}`));
    expect(all.isHeld).toBe(true);
  });

  it('acquires more than a hundred at once', async () => {
    const [here] = await twoProviders();
    const names = Array.from({ length: 120 }, (_, index) => `lock ${String(index)}`);
    const all = await here.locks.acquireAll(mutexes(here.locks, names));
    expect(all.handles.map(({ name }) => name)).toEqual(names);
    expect(all.isHeld).toBe(true);
    expect(await all.release()).toBe(true);
  });

  it('keeps and passes on seats', async () => {
    const [here, there] = await twoProviders();
    const requests = ['a', 'b', 'c'].map((name) => ({
      mutex: here.locks.createMutex(name, { keepMs: 60_000 }),
    }));
    for (const { mutex } of requests) await untilKept(here, mutex);
    const sent = here.commands.length;
    const again = await here.locks.acquireAll(requests);
    expect(again.isHeld).toBe(true);
    expect(here.commands.slice(sent)).toEqual([]);
    const waiting = later(there.locks.acquireAll(mutexes(there.locks, ['a', 'b', 'c'])));
    await untilWaiting(here.locks, 'a');
    await again.release();
    expect((await within(20_000, 'the others', waiting)).isHeld).toBe(true);
  });
});

describe('acquireAll of more permits than the stored limit', () => {
  it('fails as an acquire does, also if an answer has shown the limit before', async () => {
    const [here, there] = await twoProviders();
    await (await there.locks.createSemaphore('b', 1).acquire()).release();
    const semaphore = here.locks.createSemaphore('b', 3, { whenLimitDiffers: 'follow' });
    const requests = [{ mutex: here.locks.createMutex('a') }, { semaphore, permits: 3 }] as const;
    const error = await rejection(here.locks.acquireAll(requests));
    expect(error).toBeInstanceOf(SemaphoreLimitMismatchError);
    expect(error).toMatchObject({ expected: 3, actual: 1, lockName: 'b' });
    await untilFree(here.locks, ['a', 'b']);
    // From now on the object knows the limit, so the request is wrong before anything is sent.
    expect(await rejection(here.locks.acquireAll(requests))).toBeInstanceOf(RangeError);
  });
});

describe('acquireAll that finds a lock busy', () => {
  it('keeps the locks before it, gives back the locks behind it, and waits', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const busy = await there.locks.acquireMutex('b');
    const events = listen(here.locks);
    const taking = later(here.locks.acquireAll(mutexes(here.locks, ['a', 'b', 'c', 'd'])));
    await untilWaiting(there.locks, 'b');
    await untilFree(there.locks, ['c', 'd']);
    expect((await there.locks.inspect('a'))?.holders).toHaveLength(1);
    await eventually('it has given back two', () => events.length === 6);
    expect(events.slice(0, 3)).toEqual(['acquired a', 'acquired c', 'acquired d']);
    expect(events.slice(3).sort()).toEqual(['released c', 'released d', 'waiting b']);
    await busy.release();
    expect((await within(20_000, 'all', taking)).isHeld).toBe(true);
    expect(events.slice(6)).toEqual(['acquired b', 'acquired c', 'acquired d']);
  });

  it('holds nothing while it waits for the first, and is in its queue after the fast path and one transition', async () => {
    const database = ownDatabase();
    const here = await watched(database, { leaseMs: 60_000 });
    const there = database.client().provider({ createIndexes: false });
    const busy = await there.acquireMutex('a');
    const asked = askedUntilQueued(here);
    const taking = later(here.locks.acquireAll(mutexes(here.locks, ['a', 'b', 'c'])));
    expect((await asked).filter((name) => name === 'a')).toEqual(['a', 'a']);
    await untilFree(there, ['b', 'c']);
    await busy.release();
    const all = await within(20_000, 'all', taking);
    all.assertHeld();
  });

  it('holds nothing while it waits for the first in the queue of its own process', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const kept = here.locks.createMutex('a', { keepMs: 60_000 });
    await untilKept(here, kept);
    const busy = await kept.acquire();
    const taking = later(here.locks.acquireAll([{ mutex: kept }, ...mutexes(here.locks, ['b'])]));
    const b = await within(20_000, 'the other lock', there.locks.acquireMutex('b'));
    expect((await there.locks.inspect('a'))?.waiters).toEqual([]);
    await b.release();
    await busy.release();
    expect((await within(20_000, 'both', taking)).isHeld).toBe(true);
  });

  it('does not pass a queue', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const reader = await there.locks.createReaderWriterLock('b').acquireRead();
    const writing = later(there.locks.createReaderWriterLock('b').acquireWrite());
    await untilWaiting(there.locks, 'b');
    const read = here.locks.createReaderWriterLock('b');
    const taking = later(here.locks.acquireAll([...mutexes(here.locks, ['a']), { read }]));
    await untilWaiting(there.locks, 'b', 2);
    await reader.release();
    await (await within(20_000, 'the writer', writing)).release();
    expect((await within(20_000, 'both', taking)).isHeld).toBe(true);
  });

  it('without a wait, rejects with the answer to the first that was not granted', async () => {
    const database = ownDatabase();
    const here = await watched(database);
    const there = database.client().provider({ createIndexes: false });
    await keepHold(there.acquireMutex('b', { why: 'the other work' }));
    const permit = await there.createSemaphore('c', 1).acquire();
    const events = listen(here.locks);
    const error = await rejection(
      here.locks.acquireAll(mutexes(here.locks, ['a', 'b', 'c', 'd']), { timeoutMs: 0 }),
    );
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toMatchObject({ lockName: 'b', holders: [{ why: 'the other work' }] });
    expect((error as Error).stack).toContain('early-tries.test.ts');
    // Nothing has waited, so nothing has timed out.
    expect(events).not.toContain('timeout b');
    expect(events.sort()).toEqual(['acquired a', 'released a']);
    const others = await rejection(here.locks.tryAcquireAll(mutexes(here.locks, ['a', 'c', 'd'])));
    expect(others).toBeInstanceOf(LockKindMismatchError);
    expect(others).toMatchObject({ lockName: 'c' });
    expect((await there.inspect('a'))?.holders).toEqual([]);
    expect(await there.inspect('d')).toBeNull();
    expect(permit.isHeld).toBe(true);
  });

  it('without a wait, lets one of several callers of the same locks have them all', async () => {
    const database = ownDatabase();
    const names = Array.from({ length: 8 }, (_, index) => `n${String(index)}`);
    const callers = [1, 2, 3].map(() => database.client().provider({ createIndexes: false }));
    for (let round = 0; round < 30; round += 1) {
      const all = await Promise.all(callers.map((locks) => locks.tryAcquireAll(mutexes(locks, names))));
      const granted = all.filter((handle) => handle !== null);
      expect(granted).toHaveLength(1);
      await granted[0]?.release();
    }
  });

  it('waits for it although a lock behind it is of another kind', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const busy = await there.locks.acquireMutex('b');
    const permit = await there.locks.createSemaphore('c', 1).acquire();
    const taking = later(here.locks.acquireAll(mutexes(here.locks, ['a', 'b', 'c'])));
    await untilWaiting(there.locks, 'b');
    await permit.release();
    await busy.release();
    expect((await within(20_000, 'all', taking)).isHeld).toBe(true);
  });

  it('of one lock only, asks for it by the fast path and one transition, and waits', async () => {
    const database = ownDatabase();
    const here = await watched(database, { leaseMs: 60_000 });
    const there = database.client().provider({ createIndexes: false });
    const busy = await there.acquireMutex('a');
    const asked = askedUntilQueued(here);
    const taking = later(here.locks.acquireAll(mutexes(here.locks, ['a'])));
    expect(await asked).toEqual(['a', 'a']);
    await busy.release();
    expect((await within(20_000, 'it', taking)).isHeld).toBe(true);
  });
});

describe('acquireAll with a try that is not answered', () => {
  const NAMES = ['a', 'b', 'c'];

  /** Applies the first command for `b`, and loses its answer, or holds it up until a promise resolves. */
  function loseAnswer(here: Watched, until = new Promise<void>(() => undefined)): () => boolean {
    let isLost = false;
    here.after = (names) => {
      if (isLost || !names.includes('b')) return undefined;
      isLost = true;
      return until;
    };
    return () => isLost;
  }

  it('asks again, and acquires all', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 1_000 });
    loseAnswer(here);
    const all = await within(30_000, 'all', here.locks.acquireAll(mutexes(here.locks, NAMES)));
    expect(all.isHeld).toBe(true);
    expect(await all.release()).toBe(true);
    await untilFree(here.locks, NAMES);
  });

  it('without a wait, rejects, and leaves nothing behind', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 1_000 });
    loseAnswer(here);
    const taking = here.locks.tryAcquireAll(mutexes(here.locks, NAMES));
    expect(await rejection(within(30_000, 'the error', taking))).toBeInstanceOf(StoreUnavailableError);
    await untilFree(here.locks, NAMES);
  });

  it('times out once, with the reason, and leaves nothing behind', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 60_000 });
    const { opened, open } = gate();
    loseAnswer(here, opened);
    const events = listen(here.locks);
    const taking = here.locks.acquireAll(mutexes(here.locks, NAMES), { timeoutMs: 500 });
    const error = await rejection(within(30_000, 'the timeout', taking));
    open();
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect((error as Error).message).toMatch(/the store (did not answer|stopped answering)/);
    expect(events.filter((event) => event.startsWith('timeout'))).toHaveLength(1);
    await untilFree(here.locks, NAMES);
  });

  it('rejects with the reason of an abort, and leaves nothing behind', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 60_000 });
    const { opened, open } = gate();
    const isLost = loseAnswer(here, opened);
    const aborting = new AbortController();
    const taking = later(here.locks.acquireAll(mutexes(here.locks, NAMES), { signal: aborting.signal }));
    await eventually('an answer is lost', isLost);
    aborting.abort(new Error('enough'));
    expect(await rejection(within(20_000, 'the abort', taking))).toBe(aborting.signal.reason);
    open();
    await untilFree(here.locks, NAMES);
  });

  it('waits at an abort for an answer that comes, and has given everything back then', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 60_000 });
    const there = database.client().provider({ createIndexes: false });
    const { opened, open } = gate();
    const isLost = loseAnswer(here, opened);
    const aborting = new AbortController();
    const taking = later(here.locks.acquireAll(mutexes(here.locks, NAMES), { signal: aborting.signal }));
    await eventually('an answer is held up', isLost);
    aborting.abort(new Error('enough'));
    open();
    expect(await rejection(taking)).toBe(aborting.signal.reason);
    for (const name of NAMES) expect((await there.inspect(name))?.holders ?? []).toEqual([]);
  });

  it('rejects when the provider closes, and leaves nothing behind', async () => {
    const database = ownDatabase();
    const here = await watched(database, { storeTimeoutMs: 60_000 });
    const there = database.client().provider({ createIndexes: false });
    const { opened, open } = gate();
    const isLost = loseAnswer(here, opened);
    const taking = later(here.locks.acquireAll(mutexes(here.locks, NAMES)));
    await eventually('an answer is held up', isLost);
    const closing = here.locks.close({ drainMs: 30_000 });
    expect(await rejection(within(20_000, 'the error', taking))).toBeInstanceOf(ProviderClosedError);
    open();
    await within(20_000, 'the close', closing);
    await untilFree(there, NAMES);
  });

  it('aborted before the call, sends nothing', async () => {
    const here = await watched(ownDatabase());
    const signal = AbortSignal.abort(new Error('aborted before'));
    expect(await rejection(here.locks.acquireAll(mutexes(here.locks, NAMES), { signal }))).toBe(
      signal.reason,
    );
    expect(here.asked).toEqual([]);
  });
});

describe('many callers of acquireAll with overlapping locks', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
  const CALLERS = 24;
  const ROUNDS = 4;

  it('all finish, and each is alone in its locks (L1, S1)', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const random = xoroshiro128plus(drawSeed('overlapping sets'));
    const someNames = (): readonly string[] => {
      const chosen = NAMES.filter(() => uniformInt(random, 0, 1) === 1);
      return chosen.length > 1 ? chosen : ['a', 'f'];
    };
    const inside = new Set<string>();
    const callers = Array.from({ length: CALLERS }, async (_, index) => {
      const { locks } = index % 2 === 0 ? one : other;
      for (let round = 0; round < ROUNDS; round += 1) {
        const names = someNames();
        await using all = await locks.acquireAll(mutexes(locks, names));
        for (const name of names) {
          expect(inside.has(name)).toBe(false);
          inside.add(name);
        }
        await new Promise(setImmediate);
        all.assertHeld();
        for (const name of names) inside.delete(name);
      }
    });
    await within(100_000, 'all callers', Promise.all(callers));
    await untilFree(one.locks, NAMES);
  });
});
