import { describe, expect, it } from 'vitest';

import {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  ProviderClosedError,
  StoreUnavailableError,
  UnsupportedServerError,
} from '../../../src/errors.js';
import { StoreHealth } from '../../../src/quorum/store-health.js';
import type { SeatRequest, Store } from '../../../src/quorum/store.js';
import { later, rejection, settled } from '../../../lab/patience.js';
import { MockQuorum, hangs, holder, inTime, isSilent, refuses } from './mock-stores.js';
import type { MockStore } from './mock-stores.js';

const serverError = (message: string, code: number): Error =>
  Object.assign(new Error(message), { name: 'MongoServerError', code });

/** As a store whose server answers every try by a refusal. */
const isForbidden: MockStore['says'] = ({ name }) =>
  Promise.reject(new StoreUnavailableError(name, true, serverError('not authorized', 13)));

/** As a store that has repeated the request until its time was up. */
const isElecting: MockStore['says'] = ({ name }) =>
  Promise.reject(new StoreUnavailableError(name, false, serverError('not primary', 10_107)));

const storeAt = (quorum: MockQuorum, index: number): MockStore => {
  const store = quorum.stores[index];
  if (store === undefined) throw new Error(`there is no store ${index}`);
  return store;
};

/** The third store answers when it is told to, and then by `says`. */
function slowly(quorum: MockQuorum, says: MockStore['says']): () => void {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  storeAt(quorum, 2).says = async (wish) => {
    await answered;
    return await says(wish);
  };
  return answer;
}

describe('a failed try tells about its store', () => {
  const unavailable = (cause: unknown): Error => new StoreUnavailableError('m', false, cause);
  const missed = Object.assign(new Error('not replicated'), { name: 'MongoWriteConcernError' });

  it.each([
    {
      what: 'that the lock is busy',
      error: new AcquireTimeoutError('m', { waitedMs: 0 }),
      hasAnswered: true,
      mayGrant: true,
    },
    {
      what: 'that a document is corrupt',
      error: new CorruptLockDocumentError('m'),
      hasAnswered: true,
      mayGrant: true,
    },
    {
      what: 'that it lacks something',
      error: new UnsupportedServerError('m', 'old'),
      hasAnswered: true,
      mayGrant: false,
    },
    {
      what: 'that it refuses',
      error: unavailable(serverError('not authorized', 13)),
      hasAnswered: true,
      mayGrant: false,
    },
    {
      what: 'that it has no primary',
      error: unavailable(serverError('not primary', 10_107)),
      hasAnswered: true,
      mayGrant: false,
    },
    {
      what: 'that a majority did not confirm',
      error: unavailable(missed),
      hasAnswered: true,
      mayGrant: false,
    },
    {
      what: 'nothing but silence',
      error: unavailable(new Error('no answer')),
      hasAnswered: false,
      mayGrant: false,
    },
    {
      what: 'nothing, as the provider closes',
      error: new ProviderClosedError('m'),
      hasAnswered: false,
      mayGrant: true,
    },
    {
      what: 'nothing, by any other error',
      error: new TypeError('a bug'),
      hasAnswered: false,
      mayGrant: true,
    },
  ])('$what', async ({ error, hasAnswered, mayGrant }) => {
    const health = new StoreHealth();
    const store = { try: () => Promise.reject(error) } as unknown as Store;
    expect(await rejection(health.try(store, { name: 'm' } as SeatRequest, () => undefined))).toBe(error);
    expect(health.hasAnswered(store)).toBe(hasAnswered);
    expect(health.mayGrant(store)).toBe(mayGrant);
  });

  it('but not when the provider closes: a silent store stays silent', async () => {
    const health = new StoreHealth();
    const errors = [unavailable(new Error('no answer')), new ProviderClosedError('m')];
    const store = { try: () => Promise.reject(errors.shift() ?? new Error('no more')) } as unknown as Store;
    for (let tries = 0; tries < 2; tries += 1) {
      await rejection(health.try(store, { name: 'm' } as SeatRequest, () => undefined));
    }
    expect(health.isSilent(store)).toBe(true);
  });
});

describe('a store that refuses', () => {
  it('is asked by each request: the refusal of one lock fails no request for another', async () => {
    const quorum = new MockQuorum();
    quorum.say(undefined, undefined, isForbidden);
    await (await inTime(quorum, quorum.mutex.acquire())).release();
    const grants = storeAt(quorum, 2).grants(900);
    const answer = slowly(quorum, (wish) => (wish.name === 'm' ? isForbidden(wish) : grants(wish)));
    const asked = storeAt(quorum, 2).asked;
    const both = [later(quorum.mutex.tryAcquire()), later(quorum.lock.tryAcquireWrite())];
    await settled();
    expect(storeAt(quorum, 2).asked).toBe(asked + 2);
    answer();
    await settled();
    for (const each of both) expect((await each)?.isHeld).toBe(true);
    expect(quorum.held).toEqual([2, 2, 1]);
  });

  it('is no gate: waiters meet at the next store', async () => {
    const quorum = new MockQuorum();
    quorum.say(isForbidden, refuses(holder('w1', 'p')), refuses(holder('w2', 'p')));
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 60_000 }));
    await settled();
    const before = quorum.stores.map(({ asked }) => asked);
    storeAt(quorum, 1).tell(null);
    await settled();
    const rounds = quorum.stores.map(({ asked }, index) => asked - (before[index] ?? 0));
    expect(rounds).toEqual([0, 1, 0]);
    quorum.closing.abort();
    await rejection(acquiring);
  });

  it('is not free: a wait goes on until a majority of the others is', async () => {
    const quorum = new MockQuorum(3, { pollMs: { min: 10_000, max: 10_000 } });
    quorum.say(refuses(holder('w0', 'p')), refuses(holder('w1', 'p')), isForbidden);
    const acquiring = later(quorum.mutex.acquire());
    await settled();
    const { asked } = storeAt(quorum, 0);
    storeAt(quorum, 0).tell(['-w0:1']);
    await settled();
    expect(storeAt(quorum, 0).asked).toBe(asked);
    for (const index of [0, 1]) storeAt(quorum, index).says = storeAt(quorum, index).grants(500);
    storeAt(quorum, 1).tell(['-w1:1']);
    await settled();
    expect((await acquiring).isHeld).toBe(true);
  });
});

describe('a store that did not answer', () => {
  it.for([
    ['without a word', isSilent],
    ['until its time was up, because it has no primary', isElecting],
  ] as const)('%s, is asked by one request at a time', async ([, says]) => {
    const quorum = new MockQuorum();
    quorum.say(undefined, undefined, says);
    await (await inTime(quorum, quorum.mutex.acquire())).release();
    quorum.say(undefined, undefined, hangs);
    const { asked } = storeAt(quorum, 2);
    for (const trying of [quorum.mutex.tryAcquire(), quorum.lock.tryAcquireWrite()]) {
      expect((await trying)?.isHeld).toBe(true);
    }
    expect(storeAt(quorum, 2).asked).toBe(asked + 1);
  });

  it('is silent no more when it answers, though the answer is that one document is corrupt', async () => {
    const quorum = new MockQuorum();
    quorum.say(undefined, undefined, isSilent);
    await (await inTime(quorum, quorum.mutex.acquire())).release();
    const grants = storeAt(quorum, 2).grants(900);
    const answer = slowly(quorum, (wish) =>
      wish.name === 'm' ? Promise.reject(new CorruptLockDocumentError('m')) : grants(wish),
    );
    const both = [later(quorum.mutex.tryAcquire()), later(quorum.lock.tryAcquireWrite())];
    await settled();
    answer();
    await settled();
    for (const each of both) expect((await each)?.isHeld).toBe(true);
    // The request for the other lock waited for the first answer, and asked then.
    expect(quorum.held).toEqual([2, 2, 1]);
  });
});
