import { describe, expect, it } from 'vitest';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { twoProviders } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

describe('acquireAll that loses one lock while it waits for another', () => {
  it('acquires the lost lock again and waits for the other one in the time that is left', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [a, b] = [one.locks.createMutex('a'), one.locks.createMutex('b')];
    const hold = await other.locks.acquireMutex('b');
    const waiting = one.locks.acquireAll([{ mutex: b }, { mutex: a }], { timeoutMs: 30_000 });
    await untilWaiting(other.locks, 'b');
    const lost: string[] = [];
    one.locks.on('lost', ({ lockName }) => lost.push(lockName));
    await one.locks.revoke('a', { force: true });
    await eventually('it has a again', async () => (await other.locks.inspect('a'))?.holders.length === 1);
    await untilWaiting(other.locks, 'b');
    expect(lost).toEqual(['a']);
    await hold.release();
    const both = await within(10_000, 'both', waiting);
    expect(both.isHeld).toBe(true);
    expect(both.handles.map(({ name }) => name)).toEqual(['b', 'a']);
    expect(await both.release()).toBe(true);
  });

  it('times out if no time is left, and holds nothing', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [a, b] = [one.locks.createMutex('a'), one.locks.createMutex('b')];
    const hold = await other.locks.acquireMutex('b');
    const waiting = later(one.locks.acquireAll([{ mutex: a }, { mutex: b }], { timeoutMs: 8_000 }));
    await untilWaiting(other.locks, 'b');
    await one.locks.revoke('a', { force: true });
    expect(await rejection(waiting)).toMatchObject({ code: 'ACQUIRE_TIMEOUT', lockName: 'b' });
    expect(await other.locks.inspect('a')).toMatchObject({ holders: [], waiters: [] });
    expect(await other.locks.inspect('b')).toMatchObject({ holders: [{ id: hold.id }], waiters: [] });
  });

  it('rejects with the reason of an abort that comes at the same time, not with the loss', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [a, b] = [one.locks.createMutex('a'), one.locks.createMutex('b')];
    await keepHold(other.locks.acquireMutex('b'));
    const aborting = new AbortController();
    const why = new Error('enough');
    one.locks.on('lost', () => {
      aborting.abort(why);
    });
    const requests = [{ mutex: a }, { mutex: b }] as const;
    const waiting = later(one.locks.acquireAll(requests, { signal: aborting.signal }));
    await untilWaiting(other.locks, 'b');
    await one.locks.revoke('a', { force: true });
    expect(await rejection(waiting)).toBe(why);
    await untilWaiting(other.locks, 'b', 0);
  });
});
