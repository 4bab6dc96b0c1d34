import { EventEmitter, getEventListeners } from 'node:events';
import { expect, it } from 'vitest';

import { eventually, settled } from '../../../lab/patience.js';
import type { Session } from '../../../src/cli/connection.js';
import { lockChanges } from '../../../src/cli/lock-changes.js';
import { orAborted } from '../../../src/cli/or-aborted.js';
import { TimeLimit } from '../../../src/cli/time-limit.js';
import { collectGarbage } from '../../support/collect-garbage.js';

async function untilCollected(results: readonly WeakRef<object>[]): Promise<void> {
  await eventually('the results are collected', (see) => {
    collectGarbage();
    return see(results.filter((each) => each.deref() !== undefined).length) === 0;
  });
}

it('what a promise resolved with is not kept, however long the signal lives', async () => {
  const { signal } = new AbortController();
  const results: WeakRef<object>[] = [];
  for (let calls = 0; calls < 20; calls += 1)
    results.push(new WeakRef(await orAborted(Promise.resolve({ calls }), signal)));
  await settled();
  await untilCollected(results);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('an abort ends the wait for a promise, whenever it comes', async () => {
  const end = new AbortController();
  const open = new Promise<never>(() => undefined);
  const waiting = orAborted(open, end.signal);
  const reason = new Error('the end');
  end.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(orAborted(open, end.signal)).rejects.toBe(reason);
});

it('the reads of a lock that is watched are not kept', async () => {
  const stream = Object.assign(new EventEmitter(), { close: () => Promise.resolve() });
  const results: WeakRef<object>[] = [];
  const inspect = async (): Promise<object> => {
    const snapshot = await Promise.resolve({ reads: results.length });
    results.push(new WeakRef(snapshot));
    stream.emit('change');
    return snapshot;
  };
  const session = { db: { collection: () => ({ watch: () => stream }) }, locks: { inspect } };
  const end = new AbortController();
  const changes = lockChanges(session as unknown as Session, 'x', end.signal);
  while (results.length < 20) await changes.next();
  await settled();
  // The generator has the last read, until it yields the next one.
  await untilCollected(results.slice(0, -1));
  end.abort();
  expect(await changes.next()).toEqual({ done: true, value: undefined });
});

it('a time limit fires although nothing but a signal that depends on it is kept', async () => {
  using limit = new TimeLimit(50);
  const ends = AbortSignal.any([limit.signal, new AbortController().signal]);
  const sentinel = new WeakRef({});
  await eventually('garbage is collected', () => {
    collectGarbage();
    return sentinel.deref() === undefined;
  });
  await expect(orAborted(new Promise<never>(() => undefined), ends)).rejects.toMatchObject({
    name: 'AbortError',
  });
});
