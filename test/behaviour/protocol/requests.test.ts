import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { cancel, enqueue, leave, tryOnce } from '../../model/documents/operations.js';
import { eventually } from '../../../lab/patience.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** What the reply says about the first request of the update: granted, queued, or why it is neither. */
async function answerTo(name: string, ...operations: readonly Operation[]): Promise<string> {
  const { reply } = await driver.apply(name, operations);
  const asked = operations.find((operation) => 'request' in operation);
  if (asked === undefined) throw new Error('no request');
  const fate = fateOf(reply, asked.request.id);
  if (fate.type !== 'absent') return fate.type;
  return refusalOf(reply, mutexRules, asked.type, asked.request);
}

/** The first of these attempts holds the lock; the others wait. */
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
  it('does nothing after its not-after', async () => {
    const name = driver.newName();
    const { nowMs } = await driver.apply(name, [enqueue('w0', { notAfter: new Date(0) })]);
    expect(await answerTo(name, request('w1', { notAfter: new Date(nowMs - 1) }))).toBe('late');
    expect(await membersOf(name)).toEqual([]);
  });

  it('takes effect before its not-after', async () => {
    const soon = new Date(Date.now() + 60_000);
    expect(await answerTo(driver.newName(), request('w1', { notAfter: soon }))).toBe('granted');
  });

  it('cannot take effect after its own cleanup, once its not-after has passed', async () => {
    const name = driver.newName();
    const soon = Date.now() + 5;
    const asked = request('w1', { notAfter: new Date(soon) });
    await driver.send(name, [leave('w1')]);
    await eventually('its time is over', () => Date.now() > soon);
    await driver.apply(name, [asked]);
    expect(await membersOf(name)).toEqual([]);
  });

  it('stores its reason and its label, in the place and in the lease', async () => {
    const name = driver.newName();
    const words = { why: 'charge', label: 'worker 7' };
    await driver.apply(name, [request('w1', words)]);
    await driver.apply(name, [enqueue('w2', words)]);
    const { leases, queue } = versionOf(await driver.read(name));
    expect([leases[0], queue[0]?.[1]]).toMatchObject([words, words]);
    await driver.apply(name, [leave('w1')]);
    expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: 'w2', ...words }]);
  });

  it('keeps the seat that it was granted, however late it is repeated', async () => {
    const name = await contended('w1');
    expect(await answerTo(name, request('w1', { notAfter: new Date(0) }))).toBe('granted');
  });
});

describe('maxMembers', () => {
  it('counts holders and waiters', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }))).toBe('full');
    expect(await membersOf(name)).toEqual(['wh', 'w1']);
    expect(await answerTo(name, enqueue('w2', { maxMembers: 3 }))).toBe('queued');
  });

  it('does not count a waiter whose place has lapsed', async () => {
    const name = await contended('wh', 'w1', 'w2');
    await driver.lapse(name, ['w1']);
    expect(await answerTo(name, enqueue('w3', { maxMembers: 3 }))).toBe('queued');
  });

  it('does not count a holder whose lease has expired', async () => {
    const name = await contended('wh', 'w1');
    await driver.lapse(name, ['wh']);
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }))).toBe('queued');
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('does not stop a repeated request or a leave', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w1', { maxMembers: 2 }))).toBe('queued');
    await driver.apply(name, [leave('w1')]);
    expect(await membersOf(name)).toEqual(['wh']);
  });

  it('is not given as the reason, and neither is corruption, if a waiter leaves in the same update', async () => {
    const name = await contended('wh', 'w1');
    expect(await answerTo(name, enqueue('w2', { maxMembers: 2 }), cancel('w1'))).toBe('unexplained');
  });
});

describe('a try that is not admitted', () => {
  it('is answered that the lock is busy', async () => {
    expect(await answerTo(await contended('wh'), tryOnce('w1'))).toBe('busy');
    expect(await answerTo(await contended('wh', 'w1'), tryOnce('w2'))).toBe('busy');
  });

  it('is answered without a reason if the lock is released later in the same update', async () => {
    const name = await contended('wh');
    expect(await answerTo(name, tryOnce('w1'), leave('wh'))).toBe('unexplained');
    expect(await membersOf(name)).toEqual([]);
  });

  it('is answered that the lock is busy even if the queue is full', async () => {
    expect(await answerTo(await contended('wh', 'w1'), tryOnce('w2', { maxMembers: 2 }))).toBe('busy');
  });

  it('is answered that the lock is busy if the seat has just gone from an expired holder to a waiter', async () => {
    const name = await contended('wh', 'w1');
    await driver.lapse(name, ['wh']);
    expect(await answerTo(name, tryOnce('w2'))).toBe('busy');
  });

  it('leaves nothing in the document', async () => {
    const name = await contended('wh');
    const before = await driver.read(name);
    await driver.apply(name, [tryOnce('w1')]);
    expect(await driver.read(name)).toEqual(before);
  });
});
