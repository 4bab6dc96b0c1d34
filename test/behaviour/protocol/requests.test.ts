import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../judge/lock-version.js';
import { cancel, enqueue, leave, tryOnce } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** What the reply says became of the first request in this update. */
async function answerTo(name: string, ...operations: readonly Operation[]): Promise<string> {
  const { reply } = await driver.apply(name, operations);
  const asked = operations.find((operation) => 'request' in operation);
  if (asked === undefined) throw new Error('no request');
  const fate = fateOf(reply, asked.request.id);
  if (fate.type !== 'absent') return fate.type;
  return refusalOf(reply, mutexSeats, asked.type, asked.request);
}

/** A lock held by the first of these attempts, for which the others queue. */
async function contended(...ids: readonly string[]): Promise<string> {
  const name = driver.newName();
  for (const id of ids) await driver.apply(name, [enqueue(id)]);
  return name;
}

const membersOf = async (name: string): Promise<readonly string[]> => {
  const { leases, queue } = versionOf(await driver.read(name));
  return [...leases.map(({ id }) => id), ...queue.map(([id]) => id)];
};

describe.each([
  ['enqueue', enqueue],
  ['try', tryOnce],
] as const)('%s', (_, request: (id: string, overrides?: Partial<Request>) => Operation) => {
  it('does nothing after its time', async () => {
    const name = driver.newName();
    const { nowMs } = await driver.apply(name, [enqueue('w0', { notAfter: new Date(0) })]);
    expect(await answerTo(name, request('w1', { notAfter: new Date(nowMs - 1) }))).toBe('late');
    expect(await membersOf(name)).toEqual([]);
  });

  it('does what it asks as long as its time has not passed', async () => {
    const soon = new Date(Date.now() + 60_000);
    expect(await answerTo(driver.newName(), request('w1', { notAfter: soon }))).toBe('granted');
  });

  it('cannot come back after its own cleanup, when its time is over', async () => {
    const name = driver.newName();
    const soon = Date.now() + 5;
    const asked = request('w1', { notAfter: new Date(soon) });
    await driver.send(name, [leave('w1')]);
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(soon);
    await driver.apply(name, [asked]);
    expect(await membersOf(name)).toEqual([]);
  });

  it('stores why and by whom the lock is wanted, in the queue and in the seat', async () => {
    const name = driver.newName();
    const words = { why: 'charge', label: 'worker 7' };
    await driver.apply(name, [request('w1', words)]);
    await driver.apply(name, [enqueue('w2', words)]);
    const { leases, queue } = versionOf(await driver.read(name));
    expect([leases[0], queue[0]?.[1]]).toMatchObject([words, words]);
    await driver.apply(name, [leave('w1')]);
    expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: 'w2', ...words }]);
  });

  it('keeps the seat it was granted before, however late it is repeated', async () => {
    const name = await contended('w1');
    expect(await answerTo(name, request('w1', { notAfter: new Date(0) }))).toBe('granted');
  });
});

describe('the bound of members', () => {
  it('counts holders and waiters', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }))).toBe('full');
    expect(await membersOf(name)).toEqual(['wh', 'w1']);
    expect(await answerTo(name, enqueue('w2', { maxMembers: 3 }))).toBe('queued');
  });

  it('does not count the dead', async () => {
    const name = await contended('wh', 'w1', 'w2');
    await driver.lapse(name, ['w1']);
    expect(await answerTo(name, enqueue('w3', { maxMembers: 3 }))).toBe('queued');
  });

  it('does not count the seat of a holder who is dead', async () => {
    const name = await contended('wh', 'w1');
    await driver.lapse(name, ['wh']);
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }))).toBe('queued');
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('keeps nobody from repeating a request, or from leaving', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w1', { maxMembers: 2 }))).toBe('queued');
    await driver.apply(name, [leave('w1')]);
    expect(await membersOf(name)).toEqual(['wh']);
  });

  it('is no explanation, nor is corruption, when somebody leaves in the same update', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }), cancel('w1'))).toBe('unexplained');
  });
});

describe('a try that is not let in', () => {
  it('is told that the lock is busy', async () => {
    expect(await answerTo(await contended('wh'), tryOnce('w1'))).toBe('busy');
    expect(await answerTo(await contended('wh', 'w1'), tryOnce('w2'))).toBe('busy');
  });

  it('is told nothing that the reply does not show, when the lock is given back in the same update', async () => {
    const name = await contended('wh');
    expect(await answerTo(name, tryOnce('w1'), leave('wh'))).toBe('unexplained');
    expect(await membersOf(name)).toEqual([]);
  });

  it('is told so, also when the lock has as many members as it may', async () => {
    expect(await answerTo(await contended('wh', 'w1'), tryOnce('w2', { maxMembers: 2 }))).toBe('busy');
  });

  it('is told so, when the seat has just gone from a dead holder to a waiter', async () => {
    const name = await contended('wh', 'w1');
    await driver.lapse(name, ['wh']);
    expect(await answerTo(name, tryOnce('w2'))).toBe('busy');
  });

  it('leaves nothing behind', async () => {
    const name = await contended('wh');
    const before = await driver.read(name);
    await driver.apply(name, [tryOnce('w1')]);
    expect(await driver.read(name)).toEqual(before);
  });
});
