import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LinkedController, onAbort } from '../../../src/abort-listeners.js';
import { eventually } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import { countWaiters } from '../../support/waiters.js';
import { keepHold } from '../../support/keep-hold.js';

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('an abort signal', () => {
  it('has one listener for any number of callbacks, and none when all callbacks are removed', () => {
    const { signal } = new AbortController();
    const callback = (): void => undefined;
    const ends = Array.from({ length: 20 }, () => onAbort(signal, callback));
    expect(listenersOf(signal)).toBe(1);
    for (const end of ends) {
      expect(listenersOf(signal)).toBe(1);
      end();
      end();
    }
    expect(listenersOf(signal)).toBe(0);
    onAbort(signal, callback);
    expect(listenersOf(signal)).toBe(1);
  });

  it('calls each callback once, in order, except those that an earlier callback removes', () => {
    const controller = new AbortController();
    const called: string[] = [];
    onAbort(controller.signal, () => {
      called.push('first');
      endSecond();
    });
    const endSecond = onAbort(controller.signal, () => called.push('second'));
    const endThird = onAbort(controller.signal, () => called.push('third'));
    controller.abort();
    endThird();
    onAbort(controller.signal, () => called.push('late'));
    onAbort(undefined, () => called.push('never'))();
    expect(called).toEqual(['first', 'third']);
  });
});

it('a signal that many requests share has one listener, and its abort ends all of them', async () => {
  const [one, other] = await twoProviders();
  await keepHold(one.locks.acquireMutex('a'));
  const controller = new AbortController();
  const { signal } = controller;
  const kept = other.locks.createMutex('a', { keepMs: 1_000 });
  const waits = Array.from({ length: 15 }, (_, index) =>
    index % 2 === 0 ? other.locks.acquireMutex('a', { signal }) : kept.acquire({ signal }),
  );
  const settled = Promise.allSettled(waits);
  await eventually('the requests wait', async () => (await countWaiters(one.locks, 'a')) > 0);
  expect(listenersOf(signal)).toBe(1);
  const why = new Error('enough');
  controller.abort(why);
  for (const wait of await settled) expect(wait).toEqual({ status: 'rejected', reason: why });
  expect(listenersOf(signal)).toBe(0);
});

it('a signal has no listener left when the requests with it have ended', async () => {
  const { locks } = await testProvider();
  const { signal } = new AbortController();
  for (let round = 0; round < 3; round += 1) await (await locks.acquireMutex('a', { signal })).release();
  expect(listenersOf(signal)).toBe(0);
});

describe('a linked controller', () => {
  it('aborts with the first of its sources, for the same reason, or by itself', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const linked = new LinkedController(first.signal, undefined, second.signal);
    second.abort('second');
    first.abort('first');
    expect(linked.signal.reason).toBe('second');
    expect(new LinkedController(first.signal).signal.reason).toBe('first');
    const own = new LinkedController(new AbortController().signal);
    own.abort('own');
    expect(own.signal.reason).toBe('own');
  });

  it('leaves no listener on its sources, and does not follow them any more, once it is unlinked', () => {
    const source = new AbortController();
    const linked = new LinkedController(source.signal);
    expect(listenersOf(source.signal)).toBe(1);
    linked.unlink();
    expect(listenersOf(source.signal)).toBe(0);
    source.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});
