import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { addAbortSignal, PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heardController } from '../../../src/lease/holding/heard-signal.js';
import type { Hold, LockProvider } from '../../../src/index.js';
import { eventually, pause } from '../../../lab/patience.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { testProvider } from '../../support/test-provider.js';

type Use = (signal: AbortSignal) => unknown;

/** In a function of its own, so that no variable of a test keeps the handle or its signal. */
async function takeAndForget(locks: LockProvider, name: string, use: (hold: Hold) => unknown): Promise<void> {
  use(await locks.acquireMutex(name));
}

async function takeBothAndForget(locks: LockProvider, use: (hold: Hold) => unknown): Promise<void> {
  use(await locks.acquireAll([{ mutex: locks.createMutex('a') }, { mutex: locks.createMutex('b') }]));
}

/** The names of the locks whose handles were reported as abandoned, from now on. */
function abandonedOf(locks: LockProvider): ReadonlySet<string> {
  const abandoned = new Set<string>();
  locks.on('abandoned', ({ lockName }) => abandoned.add(lockName));
  return abandoned;
}

async function collected(found: () => boolean): Promise<void> {
  await eventually('the handle is collected', async () => {
    collectGarbage();
    await pause(5);
    return found();
  });
}

/** Waits until handles that were forgotten later are collected: every earlier one would be collected by then. */
async function afterCollections(locks: LockProvider, abandoned: ReadonlySet<string>): Promise<void> {
  for (const control of ['control 1', 'control 2']) {
    await takeAndForget(locks, control, () => undefined);
    await collected(() => abandoned.has(control));
  }
}

const ignore = (): void => undefined;
const never = new AbortController();

/** Accepts requests and answers none of them. */
const silentServer = createServer();
let silentUrl = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve));
  silentUrl = `http://127.0.0.1:${String((silentServer.address() as AddressInfo).port)}`;
});

afterAll(() => {
  silentServer.close();
});

/** Uses of a signal that leave no listener on it. */
const FORGOTTEN: readonly (readonly [string, Use])[] = [
  ['was read', ignore],
  ['was asked whether it has aborted', (signal) => signal.aborted],
  [
    'had a listener that was removed',
    (signal) => {
      signal.addEventListener('abort', ignore);
      signal.removeEventListener('abort', ignore);
    },
  ],
  [
    'had a listener that another signal removed',
    (signal) => {
      const other = new AbortController();
      signal.addEventListener('abort', ignore, { signal: other.signal });
      other.abort();
    },
  ],
];

// The tests run at the same time, because a collection of garbage serves all of them.
describe.concurrent.each(['signal', 'releaseRequested'] as const)(
  'a forgotten handle with no %s listener',
  (which) => {
    it.each(FORGOTTEN)('releases its lock and is reported: the signal %s', async (_, use) => {
      const { locks } = await testProvider();
      const abandoned = abandonedOf(locks);
      await takeAndForget(locks, 'a', (hold) => use(hold[which]));
      await collected(() => abandoned.has('a'));
      expect((await locks.acquireMutex('a', { timeoutMs: 10_000 })).isHeld).toBe(true);
    });
  },
);

describe.concurrent('a forgotten handle of several locks with no signal listener', () => {
  it.each(FORGOTTEN)('releases all its locks: the signal %s', async (_, use) => {
    const { locks } = await testProvider();
    const abandoned = abandonedOf(locks);
    await takeBothAndForget(locks, (hold) => use(hold.signal));
    await collected(() => abandoned.has('a') && abandoned.has('b'));
  });
});

/** Every way in which code can listen to a signal: each calls `notify` when the signal aborts. */
const HEARD: readonly (readonly [string, (signal: AbortSignal, notify: () => void) => unknown])[] = [
  [
    'a listener',
    (signal, notify) => {
      signal.addEventListener('abort', notify);
    },
  ],
  [
    'a listener with once: true',
    (signal, notify) => {
      signal.addEventListener('abort', notify, { once: true });
    },
  ],
  [
    'an onabort handler',
    (signal, notify) => {
      signal.onabort = notify;
    },
  ],
  [
    'an onabort handler that replaced another',
    (signal, notify) => {
      signal.onabort = ignore;
      signal.onabort = notify;
    },
  ],
  [
    'a second listener after the first was removed',
    (signal, notify) => {
      signal.addEventListener('abort', ignore);
      signal.addEventListener('abort', notify);
      signal.removeEventListener('abort', ignore);
    },
  ],
  [
    'a signal derived from it by AbortSignal.any',
    (signal, notify) => {
      AbortSignal.any([never.signal, signal]).addEventListener('abort', notify);
    },
  ],
  [
    'a signal derived from a derived one',
    (signal, notify) => {
      AbortSignal.any([AbortSignal.any([signal]), never.signal]).addEventListener('abort', notify);
    },
  ],
  [
    'a stream',
    (signal, notify) => {
      addAbortSignal(signal, new PassThrough()).on('error', notify);
    },
  ],
  [
    'a pending timer',
    (signal, notify) => {
      sleep(2_000_000, undefined, { signal, ref: false }).catch(notify);
    },
  ],
  [
    'a pending fetch',
    (signal, notify) => {
      fetch(silentUrl, { signal }).catch(notify);
    },
  ],
];

describe.concurrent.each(['one lock', 'two locks'])('a loss under a forgotten handle of %s', (count) => {
  it.each(HEARD)('reaches %s', async (_, listen) => {
    const { locks } = await testProvider();
    const abandoned = abandonedOf(locks);
    let notifications = 0;
    const hear = ({ signal }: Hold): void => {
      listen(signal, () => (notifications += 1));
    };
    if (count === 'one lock') await takeAndForget(locks, 'a', hear);
    else await takeBothAndForget(locks, hear);
    await afterCollections(locks, abandoned);
    expect([...abandoned]).not.toContain('a');
    expect(notifications).toBe(0);
    await locks.revoke('a', { force: true });
    await eventually('the listener is called', () => notifications === 1);
  });
});

it('a signal that reports whether it has listeners behaves like any other AbortSignal', () => {
  const heard: boolean[] = [];
  const controller = heardController((isHeard) => heard.push(isHeard));
  const { signal } = controller;
  expect(signal).toBeInstanceOf(AbortSignal);
  expect(Object.prototype.toString.call(signal)).toBe('[object AbortSignal]');
  signal.addEventListener('abort', ignore);
  signal.addEventListener('abort', ignore);
  signal.removeEventListener('abort', ignore);
  expect(heard).toEqual([true, false]);
  controller.abort('why');
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe('why');
  expect(() => {
    signal.throwIfAborted();
  }).toThrow('why');
});
