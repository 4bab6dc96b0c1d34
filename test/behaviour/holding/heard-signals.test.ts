import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { addAbortSignal, PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heardController } from '../../../src/lease/holding/heard-signal.js';
import type { Hold, LockProvider } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Use = (signal: AbortSignal) => unknown;

/** In a function of its own, so that no variable of a test keeps the handle or its signal. */
async function takeAndForget(locks: LockProvider, name: string, use: (hold: Hold) => unknown): Promise<void> {
  use(await locks.acquireMutex(name));
}

async function takeBothAndForget(locks: LockProvider, use: (hold: Hold) => unknown): Promise<void> {
  use(await locks.acquireAll([{ mutex: locks.createMutex('a') }, { mutex: locks.createMutex('b') }]));
}

/** The locks under which a handle was found forgotten. */
function abandonedOf(locks: LockProvider): ReadonlySet<string> {
  const abandoned = new Set<string>();
  locks.on('abandoned', ({ lockName }) => abandoned.add(lockName));
  return abandoned;
}

async function collected(found: () => boolean): Promise<void> {
  await eventually('the handle is collected', async () => {
    collectGarbage();
    await sleep(5);
    return found();
  });
}

/** Collects what is forgotten: a handle that was forgotten later has been found. */
async function afterCollections(locks: LockProvider, abandoned: ReadonlySet<string>): Promise<void> {
  for (const control of ['control 1', 'control 2']) {
    await takeAndForget(locks, control, () => undefined);
    await collected(() => abandoned.has(control));
  }
}

const ignore = (): void => undefined;
const never = new AbortController();

/** Takes requests and answers none. */
const silentServer = createServer();
let silentUrl = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve));
  silentUrl = `http://127.0.0.1:${String((silentServer.address() as AddressInfo).port)}`;
});

afterAll(() => {
  silentServer.close();
});

/** What is read, or listened to for a while, and then forgotten. */
const FORGOTTEN: readonly (readonly [string, Use])[] = [
  ['was read', ignore],
  ['was asked whether it has aborted', (signal) => signal.aborted],
  [
    'had a listener that was taken off',
    (signal) => {
      signal.addEventListener('abort', ignore);
      signal.removeEventListener('abort', ignore);
    },
  ],
  [
    'had a listener that another signal has taken off',
    (signal) => {
      const other = new AbortController();
      signal.addEventListener('abort', ignore, { signal: other.signal });
      other.abort();
    },
  ],
];

describe.each(['signal', 'releaseRequested'] as const)('a forgotten handle whose %s', (which) => {
  it.each(FORGOTTEN)('%s is given back and reported', async (_, use) => {
    const { locks } = await testProvider();
    const abandoned = abandonedOf(locks);
    await takeAndForget(locks, 'a', (hold) => use(hold[which]));
    await collected(() => abandoned.has('a'));
    expect((await locks.acquireMutex('a', { timeoutMs: 10_000 })).isHeld).toBe(true);
  });
});

describe('a handle that is forgotten', () => {
  it.each(FORGOTTEN)('with others, of whose common signal one %s, is given back', async (_, use) => {
    const { locks } = await testProvider();
    const abandoned = abandonedOf(locks);
    await takeBothAndForget(locks, (hold) => use(hold.signal));
    await collected(() => abandoned.has('a') && abandoned.has('b'));
  });
});

/** Every way in which code that works under the lock hears of its loss, and tells of it. */
const HEARD: readonly (readonly [string, (signal: AbortSignal, told: () => void) => unknown])[] = [
  [
    'a listener',
    (signal, told) => {
      signal.addEventListener('abort', told);
    },
  ],
  [
    'a listener that is called once',
    (signal, told) => {
      signal.addEventListener('abort', told, { once: true });
    },
  ],
  [
    'a handler',
    (signal, told) => {
      signal.onabort = told;
    },
  ],
  [
    'a handler that replaced another',
    (signal, told) => {
      signal.onabort = ignore;
      signal.onabort = told;
    },
  ],
  [
    'a second listener, after the first was taken off',
    (signal, told) => {
      signal.addEventListener('abort', ignore);
      signal.addEventListener('abort', told);
      signal.removeEventListener('abort', ignore);
    },
  ],
  [
    'a signal derived from it by AbortSignal.any',
    (signal, told) => {
      AbortSignal.any([never.signal, signal]).addEventListener('abort', told);
    },
  ],
  [
    'a signal derived from a derived one',
    (signal, told) => {
      AbortSignal.any([AbortSignal.any([signal]), never.signal]).addEventListener('abort', told);
    },
  ],
  [
    'a stream',
    (signal, told) => {
      addAbortSignal(signal, new PassThrough()).on('error', told);
    },
  ],
  [
    'a sleep',
    (signal, told) => {
      sleep(2_000_000, undefined, { signal, ref: false }).catch(told);
    },
  ],
  [
    'a request',
    (signal, told) => {
      fetch(silentUrl, { signal }).catch(told);
    },
  ],
];

describe.each(['one lock', 'two locks'])('the loss of %s whose handle was forgotten', (count) => {
  it.each(HEARD)('is told to %s', async (_, listen) => {
    const { locks } = await testProvider();
    const abandoned = abandonedOf(locks);
    let tolds = 0;
    const hear = ({ signal }: Hold): void => {
      listen(signal, () => (tolds += 1));
    };
    if (count === 'one lock') await takeAndForget(locks, 'a', hear);
    else await takeBothAndForget(locks, hear);
    await afterCollections(locks, abandoned);
    expect([...abandoned]).not.toContain('a');
    expect(tolds).toBe(0);
    await locks.revoke('a', { force: true });
    await eventually('the loss is told', () => tolds === 1);
  });
});

it('a signal that tells whether it is heard is an AbortSignal like others', () => {
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
