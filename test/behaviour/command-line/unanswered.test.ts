import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';

import type { Session } from '../../../src/cli/connection.js';
import { StoredLocks } from '../../../src/cli/doctor-locks.js';
import { RequestTime } from '../../../src/cli/request-time.js';

const sessionWith = (locks: EventEmitter, answeredMsAgo: number | null = null): [Session, string[]] => {
  const ends: string[] = [];
  const ending = {
    giveUp: () => ends.push('gives up'),
    atMost: (ms: number) => ends.push(`at most ${ms} ms`),
  };
  Object.assign(locks, { health: () => ({ answeredMsAgo }) });
  return [{ locks, ending } as unknown as Session, ends];
};

it.each([
  [null, ['gives up']],
  [50, ['at most 3000 ms']],
])(
  'the end after a request gives its place back if the store has ever answered: %s',
  async (ago, expected) => {
    const [session, ends] = sessionWith(new EventEmitter(), ago);
    using time = new RequestTime(session, 'x', performance.now() - 60_000);
    await once(time.over, 'abort');
    expect(ends).toEqual(expected);
  },
);

it('the last failure of the store is told by the error of a request that got no answer', async () => {
  const locks = new EventEmitter();
  using time = new RequestTime(sessionWith(locks)[0], 'x', performance.now() - 60_000);
  const error = new Error('the shard is away');
  locks.emit('storeError', { lockName: 'x', during: 'transition', error });
  locks.emit('storeError', { lockName: null, during: 'stream', error: new Error('no change streams') });
  await new Promise((resolve) => {
    time.over.addEventListener('abort', resolve);
  });
  expect(time.over.reason).toMatchObject({
    exitCode: 69,
    message: expect.stringMatching(/"x".*the shard is away$/) as string,
    cause: error,
  });
});

it('the names of corrupt documents are told although no sound lock follows before the check ends', async () => {
  const end = new AbortController();
  async function* list(): AsyncGenerator<never> {
    locks.emit('storeError', { lockName: 'a', during: 'list' });
    end.abort();
    yield* await delay(60_000, [] as never[], { ref: false });
  }
  const locks: EventEmitter = Object.assign(new EventEmitter(), { list });
  const { status, detail } = await new StoredLocks().checkDocuments(sessionWith(locks)[0], end.signal);
  expect(status).toBe('fail');
  expect(detail).toMatch(/"a"; the time was up before all documents were read$/);
});
