import { afterEach, describe, expect, it, vi } from 'vitest';
import { IsolatedEmitter } from '../../../src/isolated-emitter.js';
import { eventually } from '../../../lab/patience.js';
import { answeredTimeout } from '../../support/answered-timeout.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

interface Events {
  ping: [number];
  pong: [number];
}

afterEach(() => {
  vi.restoreAllMocks();
});

const silenceWarnings = () => vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);

describe('a listener', () => {
  it('does not disturb the emitter or the other listeners if it throws or rejects', async () => {
    const warnings = silenceWarnings();
    const emitter = new IsolatedEmitter<Events>();
    const heard: number[] = [];
    emitter.on('ping', () => {
      throw new Error('one');
    });
    const rejecting: () => unknown = () => Promise.reject(new Error('two'));
    emitter.on('ping', rejecting);
    emitter.on('ping', (n) => heard.push(n));
    expect(emitter.emit('ping', 7)).toBe(true);
    expect(heard).toEqual([7]);
    await eventually('two warnings', () => warnings.mock.calls.length === 2);
  });

  it('of two events is named with the event during which it threw', () => {
    const warnings = silenceWarnings();
    const emitter = new IsolatedEmitter<Events>();
    const throwing = (): never => {
      throw new Error('thrown');
    };
    emitter.on('ping', throwing);
    emitter.on('pong', throwing);
    emitter.emit('pong', 1);
    expect(warnings.mock.calls).toHaveLength(1);
    expect(String(warnings.mock.calls[0]?.[0])).toContain('"pong"');
    emitter.off('ping', throwing);
    expect(emitter.listenerCount('ping')).toBe(0);
    expect(emitter.listenerCount('pong')).toBe(1);
  });

  it('keeps its context, and can be removed even if it was added for a single event', () => {
    const emitter = new IsolatedEmitter<Events>();
    const heard: unknown[] = [];
    const context = { name: 'context' };
    function listener(this: unknown, n: number): void {
      heard.push(this, n);
    }
    emitter.on('ping', listener, context);
    emitter.emit('ping', 1);
    emitter.off('ping', listener);
    emitter.once('ping', listener, context);
    emitter.off('ping', listener);
    emitter.emit('ping', 2);
    emitter.once('ping', listener, context);
    emitter.emit('ping', 3);
    emitter.emit('ping', 4);
    emitter.addListener('ping', listener);
    emitter.removeListener('ping', listener);
    emitter.emit('ping', 5);
    expect(heard).toEqual([context, 1, context, 3]);
  });
});

describe('a provider', () => {
  it('emits every event of waits and holds even if each listener throws', async () => {
    silenceWarnings();
    const [one, other] = await twoProviders({ leaseMs: 8_000, extendEveryMs: 1_000 });
    const seen: string[] = [];
    const names = [
      'waiting',
      'acquired',
      'extended',
      'released',
      'lost',
      'timeout',
      'releaseRequested',
    ] as const;
    for (const name of names) {
      other.locks.on(name, (payload) => {
        expect(payload).toMatchObject({ lockName: 'a', kind: 'mutex' });
        expect(payload.id).toMatch(/^w/);
        seen.push(name);
        throw new Error('from a listener');
      });
    }
    const lock = await one.locks.acquireMutex('a', { leaseMs: 60_000 });
    await answeredTimeout((timeoutMs) => {
      seen.length = 0;
      return other.locks.acquireMutex('a', { timeoutMs });
    });
    const waiting = other.locks.acquireMutex('a');
    await eventually('the second wait', () => seen.filter((name) => name === 'waiting').length === 2);
    await lock.release();
    const next = await waiting;
    await eventually('an extension', () => seen.includes('extended'));
    await next.release();
    const last = await other.locks.acquireMutex('a');
    await one.locks.revoke('a');
    await eventually('the request to release', () => seen.includes('releaseRequested'));
    await eventually('the end of the lease', () => last.signal.aborted);
    expect([...new Set(seen)].sort()).toEqual([...names].sort());
    expect(seen.slice(0, 4)).toEqual(['waiting', 'timeout', 'waiting', 'acquired']);
  });

  it('emits an event if the index cannot be created, and its locks work all the same', async () => {
    const { db, locks } = await testProvider();
    await db.collection('distributed.locks').createIndexes([{ key: { purgeAt: 1 }, name: 'mine' }]);
    const failed = new Promise((resolve) => locks.once('indexError', resolve));
    const lock = await locks.acquireMutex('a');
    expect(await failed).toMatchObject({ error: { code: 85 } });
    expect(lock.isHeld).toBe(true);
    await expect(locks.ensureIndexes()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
