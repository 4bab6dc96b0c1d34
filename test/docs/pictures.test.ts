import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';

import type { LockHandle, LockProvider } from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { eventually, later } from '../../lab/patience.js';

/** A lock whose requests have the names of the picture on its page, each from a process of its own. */
class Picture<H extends LockHandle> extends OwnDatabase {
  readonly #name: string;
  readonly #look: LockProvider;
  readonly #waiting = new Map<string, Promise<unknown>>();
  readonly #handles = new Map<string, H>();

  constructor(name: string) {
    super();
    this.#name = name;
    this.#look = this.client().provider();
  }

  /** Sends a request, and waits until it is stored as a lease or a place. */
  async asks(who: string, ask: (locks: LockProvider, why: string) => Promise<H>): Promise<void> {
    const asked = ask(this.client().provider(), who).then((handle) => this.#handles.set(who, handle));
    this.#waiting.set(who, later(asked));
    await eventually(`${who} is seen`, async () => {
      const { inside, queue } = await this.seen();
      return [...inside, ...queue].includes(who);
    });
  }

  /** The stored holders, and the waiters in their order. */
  async seen(): Promise<{ readonly inside: readonly string[]; readonly queue: readonly string[] }> {
    const { holders = [], waiters = [] } = (await this.#look.inspect(this.#name)) ?? {};
    return { inside: names(holders).sort(), queue: names(waiters) };
  }

  /** Whether the stored lock matches this filter. */
  async isStored(like: Document): Promise<boolean> {
    const stored = this.plain.db.collection<{ _id: string }>('distributed.locks');
    return (await stored.findOne({ _id: this.#name, ...like })) !== null;
  }

  async handle(who: string): Promise<H> {
    await this.#waiting.get(who);
    const handle = this.#handles.get(who);
    if (handle === undefined) throw new Error(`${who} holds nothing`);
    return handle;
  }

  async leaves(...all: readonly string[]): Promise<void> {
    for (const who of all) await (await this.handle(who)).release();
  }

  /** The tokens of these requests, in this order. */
  async tokens(...all: readonly string[]): Promise<readonly number[]> {
    return await Promise.all(all.map(async (who) => (await this.handle(who)).fencingToken));
  }
}

const names = (members: readonly { readonly why?: string | undefined }[]): string[] =>
  members.map(({ why = '' }) => why);

const rising = (numbers: readonly number[]): readonly number[] => [...numbers].sort((a, b) => a - b);

describe('the picture in the docs', () => {
  test('shows the queue of docs/reader-writer-lock.md as it is', async () => {
    await using picture = new Picture('catalogue');
    const lock = (locks: LockProvider) => locks.createReaderWriterLock('catalogue');
    for (const who of ['A', 'B']) await picture.asks(who, (locks, why) => lock(locks).acquireRead({ why }));
    await picture.asks('W', (locks, why) => lock(locks).acquireWrite({ why }));
    await picture.asks('C', (locks, why) => lock(locks).acquireRead({ why }));
    await picture.asks('D', (locks, why) => lock(locks).acquireUpgradeableRead({ why }));
    await picture.asks('E', (locks, why) => lock(locks).acquireRead({ why }));
    await picture.asks('X', (locks, why) => lock(locks).acquireWrite({ why }));
    expect(await picture.seen()).toEqual({ inside: ['A', 'B'], queue: ['W', 'C', 'D', 'E', 'X'] });

    await picture.asks('new', (locks, why) => lock(locks).acquireRead({ why }));
    expect(await picture.seen()).toEqual({ inside: ['A', 'B'], queue: ['W', 'C', 'D', 'E', 'X', 'new'] });
    const before = await picture.tokens('A', 'B');

    await picture.leaves('A', 'B');
    expect(await picture.seen()).toEqual({ inside: ['W'], queue: ['C', 'D', 'E', 'X', 'new'] });
    const written = await picture.tokens('W');

    await picture.leaves('W');
    expect(await picture.seen()).toEqual({ inside: ['C', 'D', 'E'], queue: ['X', 'new'] });
    const read = await picture.tokens('C', 'D', 'E');

    await picture.leaves('C', 'D', 'E');
    expect(await picture.seen()).toEqual({ inside: ['X'], queue: ['new'] });
    const tokens = [...before, ...written, ...read, ...(await picture.tokens('X'))];
    expect(tokens).toEqual(rising(tokens));
    await picture.leaves('X', 'new');
  });

  test('shows an upgrade in docs/reader-writer-lock.md as it is', async () => {
    await using picture = new Picture('catalogue');
    const lock = (locks: LockProvider) => locks.createReaderWriterLock('catalogue');
    for (const who of ['C', 'E']) await picture.asks(who, (locks, why) => lock(locks).acquireRead({ why }));
    await using own = picture.client();
    const d = await lock(own.provider()).acquireUpgradeableRead({ why: 'D' });
    await picture.asks('X', (locks, why) => lock(locks).acquireWrite({ why }));
    await picture.asks('F', (locks, why) => lock(locks).acquireRead({ why }));

    const upgraded = d.upgrade();
    await eventually('the upgrade waits', () => picture.isStored({ 'readers.upgrading': true }));
    await picture.asks('new', (locks, why) => lock(locks).acquireRead({ why }));
    await picture.leaves('C');
    expect(await picture.seen()).toEqual({ inside: ['D', 'E'], queue: ['X', 'F', 'new'] });
    expect(d.currentMode()).toBe('upgradeable');

    await picture.leaves('E');
    await upgraded;
    expect(await picture.seen()).toEqual({ inside: ['D'], queue: ['X', 'F', 'new'] });
    expect(d.currentMode()).toBe('write');
    const written = d.fencingToken;

    await d.release();
    expect(await picture.seen()).toEqual({ inside: ['X'], queue: ['F', 'new'] });
    const [next = 0] = await picture.tokens('X');
    await picture.leaves('X');
    expect(await picture.seen()).toEqual({ inside: ['F', 'new'], queue: [] });
    const tokens = [written, next, ...(await picture.tokens('F', 'new'))];
    expect(tokens).toEqual(rising(tokens));
    await picture.leaves('F', 'new');
  });

  test('shows the queue of docs/semaphore.md as it is', async () => {
    await using picture = new Picture('api:forecast');
    const asks = (who: string, permits: number): Promise<void> =>
      picture.asks(who, (locks, why) => locks.createSemaphore('api:forecast', 5).acquire({ why, permits }));
    for (const [who, permits] of Object.entries({ A: 2, B: 2, C: 3, D: 1, E: 1, new: 1 })) {
      await asks(who, permits);
    }
    expect(await picture.seen()).toEqual({ inside: ['A', 'B'], queue: ['C', 'D', 'E', 'new'] });

    await picture.leaves('A');
    expect(await picture.seen()).toEqual({ inside: ['B', 'C'], queue: ['D', 'E', 'new'] });

    await picture.leaves('B');
    expect(await picture.seen()).toEqual({ inside: ['C', 'D', 'E'], queue: ['new'] });
    const tokens = await picture.tokens('C', 'D', 'E');
    expect(tokens).toEqual(rising(tokens));
    await picture.leaves('C', 'D', 'E', 'new');
  });

  test('shows two transfers in docs/all-or-nothing.md as they are', async () => {
    await using database = new OwnDatabase();
    const [first, second, somebody] = [1, 2, 3].map(() => database.client().provider());
    if (first === undefined || second === undefined || somebody === undefined) throw new Error();
    const seen = async (account: string): Promise<readonly unknown[]> => {
      const { holders = [], waiters = [] } = (await somebody.inspect(`account:${account}`)) ?? {};
      return [names(holders), names(waiters)];
    };
    const both = (locks: LockProvider, why: string, accounts: readonly string[]) =>
      locks.acquireAll(
        accounts.map((account) => ({ mutex: locks.createMutex(`account:${account}`) })),
        { why },
      );
    const held = await somebody.acquireMutex('account:43', { why: 'somebody else' });
    const t1 = both(first, 'T1', ['42', '43']);
    await eventually('T1 waits', async () => String(await seen('43')) === 'somebody else,T1');
    const t2 = both(second, 'T2', ['43', '42']);
    await eventually('T2 waits', async () => String(await seen('42')) === 'T1,T2');
    expect(await seen('43')).toEqual([['somebody else'], ['T1']]);

    await held.release();
    await (await t1).release();
    expect((await t2).handles.map(({ name }) => name)).toEqual(['account:43', 'account:42']);
    await (await t2).release();
  });
});
