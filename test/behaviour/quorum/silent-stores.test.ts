import { MongoClient } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { AcquireTimeoutError, StoreUnavailableError } from '../../../src/index.js';
import { QuorumError, QuorumLockProvider } from '../../../src/quorum/index.js';
import { Door } from '../store-away/door.js';
import { randomName } from '../../support/test-provider.js';
import { eventually, later, rejection, staysOpen, within } from '../../../lab/patience.js';
import { MockQuorum, hangs, holder, inTime, isSilent, refuses } from './mock-stores.js';
import type { MockStore } from './mock-stores.js';

/** Like a store whose server refuses the command. */
const isForbidden: MockStore['says'] = ({ name }) => {
  const refusal = Object.assign(new Error('not authorized: needs find'), {
    name: 'MongoServerError',
    code: 13,
  });
  return Promise.reject(new StoreUnavailableError(name, true, refusal));
};

const unavailable =
  (name: string, message: string, more: object = {}): MockStore['says'] =>
  (wish) =>
    Promise.reject(
      new StoreUnavailableError(wish.name, true, Object.assign(new Error(message), { name, ...more })),
    );

/** Like a store whose client was closed by its owner. */
const isClosed = unavailable('MongoNotConnectedError', 'Client must be connected');

/** Nothing was sent, so the outcome is known, and a later request may succeed. */
const isUnreached = unavailable('MongoServerSelectionError', 'connect ECONNREFUSED 127.0.0.1:1');
const isElecting = unavailable('MongoServerError', 'not primary', { code: 10_107 });

const failed = async (promise: Promise<unknown>): Promise<Error> => {
  const error = await rejection(promise);
  if (!(error instanceof Error)) throw new Error('no error');
  return error;
};

describe('a request that too few stores answer', () => {
  it('fails with an error that says of each failed store whether it ever answered, and what its driver said last', async () => {
    const quorum = new MockQuorum();
    quorum.say(undefined, undefined, isSilent);
    await (await quorum.mutex.acquire()).release();
    quorum.say(undefined, isSilent, isSilent);
    const error = await failed(inTime(quorum, quorum.mutex.tryAcquire()));
    expect(error).toBeInstanceOf(QuorumError);
    expect(error.message).toBe(
      'Lock "m" needs a majority of 3 stores: 2 failed: store 1 (has answered before): no answer; store 2 (has never answered): no answer',
    );
  });

  it('fails with an error that counts the refusal of a server as an answer', async () => {
    const quorum = new MockQuorum();
    quorum.say(isForbidden, undefined, isForbidden);
    const error = await failed(inTime(quorum, quorum.mutex.tryAcquire()));
    expect(error.message).toContain(
      'store 0 (has answered before): not authorized: needs find; store 2 (has answered before): not authorized',
    );
  });

  it('fails at once if a majority refuses for good, as with one deployment', async () => {
    for (const says of [isForbidden, isClosed]) {
      const quorum = new MockQuorum();
      const startMs = quorum.clock.nowMs();
      quorum.say(says, undefined, says);
      for (const request of [{}, { timeoutMs: 60_000 }]) {
        const error = await failed(inTime(quorum, quorum.mutex.acquire(request)));
        expect(error).toBeInstanceOf(QuorumError);
        expect(quorum.held).toEqual([0, 0, 0]);
      }
      expect(quorum.clock.nowMs() - startMs).toBeLessThan(1_000);
    }
  });

  it('goes on waiting if a majority is unreachable, or has no primary at the moment', async () => {
    for (const says of [isUnreached, isElecting]) {
      const quorum = new MockQuorum();
      quorum.say(says, undefined, says);
      const waiting = later(quorum.mutex.acquire());
      await inTime(quorum, staysOpen(waiting, 100));
      quorum.say(undefined, undefined, quorum.stores[2]?.grants(500));
      expect((await inTime(quorum, waiting)).isHeld).toBe(true);
    }
  });

  it('fails with an error that names the stores that were silent until its timeout', async () => {
    const quorum = new MockQuorum();
    quorum.say(hangs, undefined, hangs);
    const error = await failed(inTime(quorum, quorum.mutex.acquire({ timeoutMs: 400 })));
    expect(error).toBeInstanceOf(QuorumError);
    expect(error.message).toBe(
      'Lock "m" needs a majority of 3 stores: 2 failed: store 0 (has never answered): no answer yet; store 2 (has never answered): no answer yet',
    );
  });

  it('fails with an error that counts an answer to inspect() as an answer', async () => {
    const quorum = new MockQuorum();
    quorum.say(undefined, hangs, hangs);
    await quorum.mutex.inspect();
    const error = await failed(inTime(quorum, quorum.mutex.acquire({ timeoutMs: 400 })));
    expect(error.message).toContain('store 1 (has answered before): no answer yet');
  });
});

describe('the timeout error of a request for a taken lock', () => {
  it('names the stores that did not answer as well as the holder', async () => {
    const quorum = new MockQuorum();
    quorum.say(refuses(holder('w1', 'p')), refuses(holder('w2', 'p')), isSilent);
    const error = await failed(inTime(quorum, quorum.mutex.acquire({ timeoutMs: 400 })));
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error.message).toMatch(/; held by p since .*; store 2 \(has never answered\): no answer$/);
    expect(error.cause).toMatchObject({ errors: [{ code: 'STORE_UNAVAILABLE' }] });
  });

  it('does not mention the stores if all answer', async () => {
    const quorum = new MockQuorum();
    quorum.say(...[1, 2, 3].map((each) => refuses(holder(`w${each}`, 'p'))));
    const error = await failed(inTime(quorum, quorum.mutex.acquire({ timeoutMs: 400 })));
    expect(error.message).not.toContain('store');
    expect(error.cause).toBeUndefined();
  });
});

describe('the stack of an error', () => {
  it('shows the call of the application, as with one deployment', async () => {
    const quorum = new MockQuorum();
    const { mutex } = quorum;
    async function bookSeat(): Promise<unknown> {
      return await mutex.acquire({ timeoutMs: 400 });
    }
    async function seatOrNone(): Promise<unknown> {
      return await mutex.tryAcquire();
    }
    async function useSeat(): Promise<void> {
      await mutex.use(() => 1, { timeoutMs: 400 });
    }
    const says = [
      [1, 2, 3].map((each) => refuses(holder(`w${each}`, 'p'))),
      [isSilent, isSilent, isSilent],
      [isForbidden, isForbidden, isForbidden],
    ];
    for (const each of says) {
      quorum.say(...each);
      for (const call of [bookSeat, seatOrNone, useSeat]) {
        // A try of a taken lock returns null instead of an error.
        const error = await inTime(quorum, call()).catch((reason: unknown) => reason);
        if (error === null) continue;
        expect((error as Error).stack).toContain(`${call.name} (${import.meta.filename}:`);
      }
    }
  });
});

/** Three stores behind doors that are shut at first. */
class ShutStores implements AsyncDisposable {
  readonly doors: readonly Door[];
  readonly locks: QuorumLockProvider;
  readonly #clients: readonly MongoClient[];

  private constructor(doors: readonly Door[]) {
    this.doors = doors;
    this.#clients = doors.map(({ uri }) => new MongoClient(uri, { serverSelectionTimeoutMS: 300 }));
    const dbs = this.#clients.map((client) => client.db(randomName('late')));
    this.locks = new QuorumLockProvider(dbs, { storeTimeoutMs: 700 });
  }

  static async make(): Promise<ShutStores> {
    return new ShutStores(await Promise.all([0, 1, 2].map(() => Door.to(inject('mongoUri')))));
  }

  async open(...indexes: readonly number[]): Promise<void> {
    await Promise.all(this.doors.filter((_, index) => indexes.includes(index)).map((door) => door.open()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.locks.close({ drainMs: 0 });
    await Promise.all(this.#clients.map((client) => client.close()));
    await Promise.all(this.doors.map((door) => door.shut()));
  }
}

describe.concurrent('a majority of stores that is down when the process starts', () => {
  it('delays a request until one more store comes up', async () => {
    await using stores = await ShutStores.make();
    await stores.open(0);
    const { locks } = stores;
    const failures = new Set<number>();
    locks.on('storeError', ({ store }) => failures.add(store));
    const waiting = later(locks.createMutex('a').acquire({ timeoutMs: 50_000 }));
    await eventually('both have failed', () => failures.has(1) && failures.has(2));
    await stores.open(2);
    const lock = await within(45_000, 'the grant', waiting);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
  });

  it('makes a wait fail at its timeout with the errors of the drivers', async () => {
    await using stores = await ShutStores.make();
    await stores.open(1);
    const wait = stores.locks.createMutex('a').acquire({ timeoutMs: 3_000 });
    const error = await failed(within(30_000, 'the error', wait));
    expect(error).toBeInstanceOf(QuorumError);
    const [first, , third] = stores.doors.map(({ port }) => port);
    // On a busy machine, the store that is up may be late as well.
    expect(error.message).toMatch(
      /needs a majority of 3 stores: [23] failed: store 0 \(has never answered\): /,
    );
    expect(error.message).toContain(`ECONNREFUSED 127.0.0.1:${first}; store `);
    expect(error.message).toContain('; store 2 (has never answered): ');
    expect(error.message).toContain(`ECONNREFUSED 127.0.0.1:${third}`);
  });
});
