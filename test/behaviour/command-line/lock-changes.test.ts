import { EventEmitter, once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';

import { later } from '../../../lab/patience.js';
import type { Session } from '../../../src/cli/connection.js';
import { Interrupted } from '../../../src/cli/interruption.js';
import { lockChanges } from '../../../src/cli/lock-changes.js';

afterEach(() => {
  vi.useRealTimers();
});

it.each([1, 2])('a signal to the process ends read %d, which gets no answer', async (unanswered) => {
  const stream = Object.assign(new EventEmitter(), { close: () => Promise.resolve() });
  let reads = 0;
  const asked = new EventEmitter();
  const inspect = async (): Promise<null> => {
    reads += 1;
    if (reads < unanswered) return null;
    asked.emit('read');
    return await new Promise<never>(() => undefined);
  };
  const session = { db: { collection: () => ({ watch: () => stream }) }, locks: { inspect } };
  const end = new AbortController();
  const changes = lockChanges(session as unknown as Session, 'x', end.signal);
  for (let at = 1; at < unanswered; at += 1) await changes.next();
  const isAsked = once(asked, 'read');
  const last = later(changes.next());
  stream.emit('change');
  await isAsked;
  const reason = new Interrupted('SIGINT');
  end.abort(reason);
  await expect(last).rejects.toBe(reason);
});

it('a change that is reported during a read leads to a further read at once', async () => {
  // No timer fires, so only the reported changes lead to reads.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const stream = Object.assign(new EventEmitter(), { close: () => Promise.resolve() });
  let reads = 0;
  const inspect = async (): Promise<null> => {
    reads += 1;
    if (reads <= 2) stream.emit('change');
    await Promise.resolve();
    return null;
  };
  const session = { db: { collection: () => ({ watch: () => stream }) }, locks: { inspect } };
  const end = new AbortController();
  const changes = lockChanges(session as unknown as Session, 'x', end.signal);
  for (let at = 1; at <= 3; at += 1) {
    await changes.next();
    expect(reads).toBe(at);
  }
  const last = changes.next();
  end.abort();
  expect(await last).toEqual({ done: true, value: undefined });
});
