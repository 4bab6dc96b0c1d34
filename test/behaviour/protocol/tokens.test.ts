import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { MAX_KEEPS } from '../../../src/protocol/lock-document.js';
import type { Request } from '../../../src/protocol/operation.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { ask, cancel, enqueue, evict, extend, leave, tryOnce } from '../../model/documents/operations.js';
import { lastTokenOf, overlapIn } from '../../../src/testing/judge/token-blocks.js';
import { eventually } from '../../../lab/patience.js';

const driver = new LockDocumentDriver(inject('mongoUri'));
const semaphores = new LockDocumentDriver(inject('mongoUri'), semaphoreRules);

afterAll(async () => {
  await driver[Symbol.asyncDispose]();
  await semaphores[Symbol.asyncDispose]();
});

/** Takes the free lock; returns the token and the time of the grant. */
async function take(
  name: string,
  id: string,
  overrides?: Partial<Request>,
): Promise<{ readonly token: number; readonly nowMs: number }> {
  const { stored, nowMs } = await driver.apply(name, [enqueue(id, overrides)]);
  const token = versionOf(stored).leases.find((lease) => lease.id === id)?.token;
  if (token === undefined) throw new Error(`${id} did not get ${name}`);
  return { token, nowMs };
}

/** Sets the fence ahead of the server's clock, so that the next tokens depend on the fence alone. */
async function setFenceAhead(among: LockDocumentDriver, name: string): Promise<number> {
  const fence = (Date.now() + 3_600_000) * 1_000;
  await among.tamper(name, { $set: { fence: Long.fromNumber(fence) } });
  return fence;
}

/** Waits until the next grant cannot have the same millisecond: no document is lost and made again that quickly. */
const nextMillisecond = async (afterMs: number): Promise<void> => {
  await eventually('the next millisecond', () => Date.now() > afterMs + 1);
};

const storedTypes = async (name: string): Promise<unknown> => {
  const types = { fence: { $type: '$fence' }, token: { $type: '$holder.token' } };
  const [found] = await driver.collection
    .aggregate([{ $match: { _id: name } }, { $project: { _id: 0, ...types } }])
    .toArray();
  return found;
};

describe('a fencing token', () => {
  it("is taken from the server's clock on a new document, in milliseconds × 1,000", async () => {
    const { token, nowMs } = await take(driver.newName(), 'w1');
    expect(token).toBe(nowMs * 1_000 + 1);
  });

  it('is still higher after a purge, and after a drop of the collection', async () => {
    const name = driver.newName();
    const first = await take(name, 'w1');
    await driver.delete(name);
    await nextMillisecond(first.nowMs);
    const second = await take(name, 'w1');
    expect(second.token).toBeGreaterThan(first.token);
    await driver.drop();
    await nextMillisecond(second.nowMs);
    expect((await take(name, 'w1')).token).toBeGreaterThan(second.token);
  });

  it('is still higher after an old document was restored', async () => {
    const name = driver.newName();
    await take(name, 'w1');
    const backup = await driver.collection.findOne({ _id: name }, { promoteLongs: false });
    await driver.apply(name, [leave('w1')]);
    const { token, nowMs } = await take(name, 'w2');
    await driver.put(backup as StoredDocument);
    await nextMillisecond(nowMs);
    await driver.apply(name, [leave('w1')]);
    expect((await take(name, 'w3')).token).toBeGreaterThan(token);
  });

  it("rises by one when the fence is ahead of the server's clock", async () => {
    const name = driver.newName();
    await take(name, 'w1');
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await driver.tamper(name, { $set: { fence: Long.fromNumber(ahead) } });
    await driver.apply(name, [enqueue('w2'), enqueue('w3')]);
    const { stored } = await driver.apply(name, [leave('w1'), leave('w2')]);
    expect(versionOf(stored)).toMatchObject({ fence: ahead + 2, leases: [{ id: 'w3', token: ahead + 2 }] });
  });

  it('is stored as a long, and so is the fence: without a grant, after a grant, and ahead of the clock', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w0', { notAfter: new Date(0) })]);
    expect(await storedTypes(name)).toEqual({ fence: 'long', token: 'missing' });
    await take(name, 'w1');
    expect(await storedTypes(name)).toEqual({ fence: 'long', token: 'long' });
    await driver.tamper(name, { $set: { fence: Long.fromNumber((Date.now() + 60_000) * 1_000) } });
    await driver.apply(name, [leave('w1'), enqueue('w2')]);
    expect(await storedTypes(name)).toEqual({ fence: 'long', token: 'long' });
  });

  it('is never above the largest safe integer: an update that would need a higher one changes nothing', async () => {
    const name = driver.newName();
    await take(name, 'w1');
    await driver.tamper(name, { $set: { fence: Long.fromNumber(Number.MAX_SAFE_INTEGER - 1) } });
    await driver.apply(name, [leave('w1'), enqueue('w2')]);
    expect(versionOf(await driver.read(name)).leases).toMatchObject([
      { id: 'w2', token: Number.MAX_SAFE_INTEGER },
    ]);
    const before = await driver.image(name);
    for (const operation of [leave('w2'), evict('w2')]) {
      await driver.apply(name, [operation, enqueue('w3')]);
    }
    expect(await driver.image(name)).toBe(before);
  });
});

describe('the tokens that a grant reserves', () => {
  const keeps = 999;

  it('follow its own token, and the token of the next grant is above them', async () => {
    const name = driver.newName();
    await take(name, 'w0');
    const fence = await setFenceAhead(driver, name);
    await driver.apply(name, [leave('w0')]);
    expect((await take(name, 'w1', { keeps })).token).toBe(fence + 1);
    expect(await driver.read(name)).toMatchObject({ fence: fence + 1 + keeps, holder: { keeps } });
    await driver.apply(name, [leave('w1')]);
    expect((await take(name, 'w2')).token).toBe(fence + 2 + keeps);
  });

  it('are none if its request asks for none, or does not mention them', async () => {
    const name = driver.newName();
    const first = await take(name, 'w1', { keeps: 0 });
    expect(await driver.read(name)).toMatchObject({ fence: first.token, holder: { keeps: 0 } });
    await driver.apply(name, [leave('w1')]);
    const second = await take(name, 'w2');
    const stored = await driver.read(name);
    expect(stored).toMatchObject({ fence: second.token });
    expect(stored?.['holder']).not.toHaveProperty('keeps');
  });

  it('are the same on the fast path', async () => {
    const name = driver.newName();
    await take(name, 'w0');
    await driver.apply(name, [leave('w0')]);
    const fence = await setFenceAhead(driver, name);
    const short = await driver.sendShort(name, enqueue('w1', { keeps }));
    expect(short?.answer?.reply).toMatchObject({
      fence: fence + 1 + keeps,
      leases: [{ token: fence + 1, keeps }],
    });
    expect(short?.stored).toMatchObject({ fence: fence + 1 + keeps });
    expect(await storedTypes(name)).toEqual({ fence: 'long', token: 'long' });
    await driver.sendShort(name, leave('w1'));
    const next = await driver.sendShort(name, tryOnce('w2'));
    expect(next?.answer?.reply?.leases).toMatchObject([{ id: 'w2', token: fence + 2 + keeps }]);
  });

  it('are a number in the place of a waiter until it is granted, and are only then reserved', async () => {
    const name = driver.newName();
    const { token } = await take(name, 'w0');
    const { stored } = await driver.apply(name, [enqueue('w1', { keeps }), enqueue('w2')]);
    expect(stored).toMatchObject({ fence: token, queue: { w1: { keeps } } });
    const fence = await setFenceAhead(driver, name);
    await driver.apply(name, [leave('w0'), leave('w1')]);
    const after = versionOf(await driver.read(name));
    expect(after).toMatchObject({
      fence: fence + 2 + keeps,
      leases: [{ id: 'w2', token: fence + 2 + keeps }],
    });
    expect(await storedTypes(name)).toEqual({ fence: 'long', token: 'long' });
  });

  it('are below the token of the next grant even if the document was purged meanwhile', async () => {
    const name = driver.newName();
    const first = await take(name, 'w1', { keeps: MAX_KEEPS });
    await driver.delete(name);
    await nextMillisecond(first.nowMs);
    expect((await take(name, 'w2')).token).toBeGreaterThan(first.token + MAX_KEEPS);
  });

  it('do not overlap for waiters that one update admits together', async () => {
    const name = semaphores.newName();
    const permits = { limit: 3, permits: 1 };
    await semaphores.apply(name, [enqueue('wh', { ...permits, permits: 3 })]);
    const waiting = [
      enqueue('w1', { ...permits, keeps }),
      enqueue('w2', permits),
      enqueue('w3', { ...permits, keeps: 1 }),
      enqueue('w4', permits),
    ];
    for (const request of waiting) await semaphores.apply(name, [request]);
    const fence = await setFenceAhead(semaphores, name);
    const { stored, reply } = await semaphores.apply(name, [leave('wh')]);
    const version = versionOf(stored);
    const [first, second, third] = [fence + 1, fence + 1_001, fence + 2_001];
    expect(version.leases.map(({ id, token }) => [id, token])).toEqual([
      ['w1', first],
      ['w2', second],
      ['w3', third],
    ]);
    expect(reply.wake.slice(1)).toEqual([`p0:w1:${first}`, `p0:w2:${second}`, `p0:w3:${third}`]);
    expect(overlapIn(version.leases)).toBeUndefined();
    expect(version.fence).toBeGreaterThanOrEqual(Math.max(...version.leases.map(lastTokenOf)));
    const next = versionOf((await semaphores.apply(name, [leave('w2')])).stored);
    expect(next.leases.find(({ id }) => id === 'w4')?.token).toBe(version.fence + 1);
  });
});

describe('a lock document', () => {
  it('stays after a release, with its fence', async () => {
    const name = driver.newName();
    const { token } = await take(name, 'w1');
    const { stored } = await driver.apply(name, [leave('w1')]);
    expect(stored).toMatchObject({ holder: null, queue: {}, fence: token });
    expect(await driver.read(name)).toEqual(stored);
  });

  it('is deleted by no operation, in whatever state', async () => {
    const name = driver.newName();
    const operations = [
      ...[enqueue('w1'), enqueue('w2'), cancel('w2'), extend('w1'), ask('w1'), evict('w1')],
      ...[tryOnce('w3'), leave('w3'), leave('w3'), cancel('w3'), evict('w3')],
    ];
    for (const operation of operations) await driver.apply(name, [operation]);
    await driver.apply(name, [enqueue('w4'), enqueue('w5')]);
    await driver.lapse(name, ['w4', 'w5']);
    await driver.apply(name, []);
    await driver.extend(name, ['w4'], 30_000, 0);
    const kinds = (await driver.oplog(name)).map((entry) => entry['op'] as string);
    expect(kinds[0]).toBe('i');
    expect(new Set(kinds.slice(1))).toEqual(new Set(['u']));
  });
});
