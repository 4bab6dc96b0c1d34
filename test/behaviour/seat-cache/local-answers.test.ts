import { describe, expect, it } from 'vitest';

import { later, pause, settled } from '../../../lab/patience.js';
import { LocalAnswers } from '../../../src/lease/seat-cache/local-answers.js';
import { ManualClock } from '../../support/manual-clock.js';
import { twoProviders } from '../../support/test-provider.js';
import { untilKept, untilReadKept } from './until-kept.js';

const KEEP_MS = 60_000;

/** Calls again as soon as a call is answered, and expects that the event loop turns meanwhile. */
async function again(call: () => Promise<unknown>, isOver: () => boolean): Promise<void> {
  let callsInTurn = 0;
  while (!isOver()) {
    if (callsInTurn === 0) setImmediate(() => (callsInTurn = 0));
    callsInTurn += 1;
    if (callsInTurn > 5_000) throw new Error('the event loop does not turn');
    await call();
  }
}

describe('callers of a kept lock that ask again as soon as they are answered', () => {
  it('share a read no longer once the process of a writer waits', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    let isWritten = false;
    const write = later(there.locks.createReaderWriterLock('a').useWrite(() => (isWritten = true)));
    await again(
      async () => await (await lock.acquireRead()).release(),
      () => isWritten,
    );
    expect(await write).toBe(true);
  });

  it('pass a mutex on no longer once another process waits', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    let isTaken = false;
    const other = later(there.locks.useMutex('a', () => (isTaken = true)));
    await again(
      async () => await (await mutex.acquire()).release(),
      () => isTaken,
    );
    expect(await other).toBe(true);
  });

  it('get a mutex whose holder releases it after a timer, although their tries fail without the server', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000 });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const first = await mutex.acquire();
    const releasing = pause(20).then(() => first.release());
    let last = await mutex.tryAcquire();
    expect(last).toBeNull();
    await again(
      async () => (last = await mutex.tryAcquire()),
      () => last !== null,
    );
    expect(await releasing).toBe(true);
    expect(await last?.release()).toBe(true);
  });

  it('are served in the order of their calls, also those that wait for the next turn', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    const served: number[] = [];
    const before = here.commands.length;
    const calls = Array.from({ length: 1_000 }, async (_, index) => {
      const hold = await lock.acquireRead();
      served.push(index);
      await hold.release();
    });
    await Promise.all(calls);
    expect(served).toEqual(calls.map((_, index) => index));
    expect(here.commands.length).toBe(before);
  });

  it('are ended by the close of their provider, or by their signal, while they wait for the next turn', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    const controller = new AbortController();
    await settled();
    const calls = Array.from({ length: 256 }, () => lock.acquireRead());
    const aborted = later(lock.acquireRead({ signal: controller.signal }));
    const late = later(lock.acquireRead());
    const holds = await Promise.all(calls);
    expect(here.locks.health().waiting).toBe(2);
    controller.abort(new Error('enough'));
    const closed = here.locks.close({ drainMs: 60_000 });
    await expect(aborted).rejects.toThrow('enough');
    await expect(late).rejects.toThrow('closed');
    expect(await Promise.all(holds.map((hold) => hold.release()))).not.toContain(false);
    await closed;
  });
});

describe('the answers without the server', () => {
  it('are counted for one turn', async () => {
    const answers = new LocalAnswers(new ManualClock());
    for (let count = 0; count < 255; count += 1) answers.answered();
    expect(answers.nextTurn).toBeUndefined();
    answers.answered();
    const { nextTurn } = answers;
    expect(nextTurn).toBeInstanceOf(Promise);
    expect(answers.nextTurn).toBe(nextTurn);
    await nextTurn;
    expect(answers.nextTurn).toBeUndefined();
    for (let count = 0; count < 256; count += 1) answers.answered();
    expect(answers.nextTurn).not.toBe(nextTurn);
  });
});
