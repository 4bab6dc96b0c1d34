import { afterEach, describe, expect, it } from 'vitest';

import { DeadlockError, LockLostError } from '../../../src/index.js';
import type { WebLock, WebLockOptions, WebLocks } from '../../../src/index.js';
import { later, rejection } from '../../../lab/patience.js';
import { Fleet } from '../testing/fleet.js';
import type { Member } from '../testing/fleet.js';

let fleet = new Fleet(1);

afterEach(async () => {
  await fleet.close();
});

/** Two processes, and the web locks of each. */
function two(seed: number): readonly [Member, Member, WebLocks, WebLocks] {
  fleet = new Fleet(seed);
  const [one, other] = fleet.members;
  if (one === undefined || other === undefined) throw new Error('no fleet');
  return [one, other, one.locks.webLocks(), other.locks.webLocks()];
}

/** Work under a lock that goes on until it is told to end. */
class Work {
  lock: WebLock | null | undefined;
  finish!: (result: string) => void;
  readonly #finished = new Promise<string>((resolve) => (this.finish = resolve));
  readonly callback = (lock: WebLock | null): Promise<string> => {
    this.lock = lock;
    return this.#finished;
  };
}

describe('request', () => {
  it('gives the callback the lock, and settles as the callback does, after the release', async () => {
    const [one, , locks] = two(51);
    const { set } = fleet;
    const result = await fleet.until(
      locks.request('shelf', (lock) => {
        expect(lock).toEqual({ name: 'shelf', mode: 'exclusive' });
        expect(lock.fencingToken).toBeGreaterThan(0);
        expect(lock.signal.aborted).toBe(false);
        return 'done';
      }),
    );
    expect(result).toBe('done');
    expect(set.documents()).toMatchObject([{ _id: 'shelf', kind: 'reader-writer', writer: null }]);
    const failure = new Error('failed');
    const failing = locks.request('shelf', { mode: 'shared' }, () => Promise.reject(failure));
    expect(await rejection(fleet.until(failing))).toBe(failure);
    expect((await fleet.until(one.locks.inspect('shelf')))?.holders).toEqual([]);
  });

  it('lets shared locks in together, and an exclusive one alone', async () => {
    const [, , locks, others] = two(52);
    const [reader, second, writer] = [new Work(), new Work(), new Work()];
    const read = locks.request('shelf', { mode: 'shared' }, reader.callback);
    const readToo = others.request('shelf', { mode: 'shared' }, second.callback);
    await fleet.set.advance(500);
    expect([reader.lock?.mode, second.lock?.mode]).toEqual(['shared', 'shared']);
    const written = others.request('shelf', { mode: 'exclusive' }, writer.callback);
    await fleet.set.advance(2_000);
    expect(writer.lock).toBeUndefined();
    reader.finish('read');
    second.finish('read, too');
    expect(await fleet.until(Promise.all([read, readToo]))).toEqual(['read', 'read, too']);
    await fleet.set.advance(2_000);
    expect(writer.lock?.mode).toBe('exclusive');
    writer.finish('written');
    expect(await fleet.until(written)).toBe('written');
  });

  it('is the same lock as the reader-writer lock of that name', async () => {
    const [one, , , others] = two(53);
    const hold = await fleet.until(one.locks.createReaderWriterLock('shelf').acquireWrite());
    const asked = others.request('shelf', { ifAvailable: true }, (lock) => lock);
    expect(await fleet.until(asked)).toBeNull();
    await fleet.until(hold.release());
  });

  it('with ifAvailable, gives null if the lock is not free, and the lock otherwise', async () => {
    const [, , locks, others] = two(54);
    const work = new Work();
    const held = locks.request('shelf', { mode: 'shared' }, work.callback);
    await fleet.set.advance(500);
    const seen = async (mode: 'shared' | 'exclusive'): Promise<string | undefined> =>
      await fleet.until(others.request('shelf', { mode, ifAvailable: true }, (lock) => lock?.mode));
    expect([await seen('exclusive'), await seen('shared')]).toEqual([undefined, 'shared']);
    work.finish('done');
    await fleet.until(held);
    expect(await seen('exclusive')).toBe('exclusive');
  });

  it('rejects with the reason of the signal, before and while it waits, but not after the grant', async () => {
    const [, , locks, others] = two(55);
    const work = new Work();
    const holding = new AbortController();
    const held = locks.request('shelf', { signal: holding.signal }, work.callback);
    await fleet.set.advance(500);
    const waiting = new AbortController();
    const waited = later(others.request('shelf', { signal: waiting.signal }, () => 'never'));
    await fleet.set.advance(500);
    waiting.abort();
    expect(await rejection(fleet.until(waited))).toMatchObject({ name: 'AbortError' });
    const reason = new Error('no time');
    const refused = others.request('shelf', { signal: AbortSignal.abort(reason) }, () => 'never');
    expect(await rejection(fleet.until(refused))).toBe(reason);
    holding.abort();
    work.finish('done');
    expect(await fleet.until(held)).toBe('done');
  });

  it('rejects with LockLostError if the lock is lost while the callback runs', async () => {
    const [one, other, locks] = two(56);
    const work = new Work();
    const held = later(locks.request('shelf', work.callback));
    await fleet.set.advance(500);
    await fleet.until(other.locks.revoke('shelf', { why: 'maintenance', force: true }));
    await fleet.set.advance(one.locks.health().leastLeaseShare === null ? 0 : 10_000);
    expect(work.lock?.signal.aborted).toBe(true);
    work.finish('too late');
    const error = await rejection(fleet.until(held));
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ why: 'revoked', lockName: 'shelf' });
  });

  it('rejects a request inside the callback that could only wait for itself', async () => {
    const [, , locks] = two(57);
    const nested = locks.request('shelf', () => locks.request('shelf', () => 'never'));
    expect(await rejection(fleet.until(nested))).toBeInstanceOf(DeadlockError);
    const tried = locks.request('shelf', () => locks.request('shelf', { ifAvailable: true }, (lock) => lock));
    expect(await fleet.until(tried)).toBeNull();
  });

  it.each([
    ['steal', 'shelf', { steal: true }, 'NotSupportedError', /do not support steal/],
    [
      'a signal together with ifAvailable',
      'shelf',
      { ifAvailable: true, signal: new AbortController().signal },
      'NotSupportedError',
      /signal together with ifAvailable/,
    ],
    ['a name that begins with a hyphen', '-shelf', {}, 'NotSupportedError', /begins with "-"/],
    [
      'an unknown option',
      'shelf',
      { modus: 'shared' },
      'TypeError',
      /unknown option "modus" of request; did you mean "mode"\?/,
    ],
    ['an unknown mode', 'shelf', { mode: 'read' }, 'RangeError', /mode must be one of exclusive, shared/],
    [
      'an ifAvailable that is no boolean',
      'shelf',
      { ifAvailable: 1 },
      'TypeError',
      /ifAvailable must be a boolean/,
    ],
    ['a steal that is no boolean', 'shelf', { steal: 'yes' }, 'TypeError', /steal must be a boolean/],
    ['an empty name', '', {}, 'RangeError', /name must not be empty/],
  ])('refuses %s, and sends nothing', async (_, name, options, error, message) => {
    const [, , locks] = two(58);
    const asked = locks.request(name, options as WebLockOptions, () => 'never');
    expect(await rejection(asked)).toMatchObject({
      name: error,
      message: expect.stringMatching(message) as string,
    });
    expect(fleet.set.documents()).toEqual([]);
  });

  it('refuses a missing callback', async () => {
    const [, , locks] = two(59);
    const asked = locks.request('shelf', {} as never);
    expect(await rejection(asked)).toMatchObject({
      name: 'TypeError',
      message: /callback must be a function/,
    });
  });
});

describe('query', () => {
  it('shows who holds and who waits, of all processes, and nothing of other kinds of locks', async () => {
    const [one, other, locks, others] = two(60);
    const [reader, writer] = [new Work(), new Work()];
    const read = locks.request('shelf', { mode: 'shared' }, reader.callback);
    await fleet.set.advance(500);
    const written = others.request('shelf', writer.callback);
    const mutex = await fleet.until(one.locks.acquireMutex('other'));
    await fleet.set.advance(500);
    expect(await fleet.until(others.query())).toEqual({
      held: [{ name: 'shelf', mode: 'shared', clientId: one.locks.processId }],
      pending: [{ name: 'shelf', mode: 'exclusive', clientId: other.locks.processId }],
    });
    reader.finish('read');
    await fleet.until(read);
    await fleet.set.advance(2_000);
    writer.finish('written');
    await fleet.until(Promise.all([written, mutex.release()]));
    expect(await fleet.until(others.query())).toEqual({ held: [], pending: [] });
  });
});
