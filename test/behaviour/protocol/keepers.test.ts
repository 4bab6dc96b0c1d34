import { afterAll, describe, expect, inject, it } from 'vitest';

import {
  keptLeasesProjection,
  leasesProjection,
  readLeases,
} from '../../../src/protocol/pipeline/extension.js';
import { keeperProjection, readForKeeper } from '../../../src/protocol/pipeline/keeper-reads.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { KINDS_BY_LEASE_FIELDS } from '../../model/documents/lock-kinds.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import {
  NONCE,
  ask,
  cancel,
  enqueue,
  exchange,
  extend,
  leave,
  resize,
  tryOnce,
} from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));
const semaphores = new LockDocumentDriver(inject('mongoUri'), semaphoreRules);
const readerWriters = new LockDocumentDriver(inject('mongoUri'), readerWriterRules);

afterAll(async () => {
  for (const one of [driver, semaphores, readerWriters]) await one[Symbol.asyncDispose]();
});

const KEEPS: Partial<Request> = { process: 'p0', keeps: 999 };

/** A mutex whose holder `wh` may keep it. */
async function kept(overrides: Partial<Request> = {}): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('wh', { ...KEEPS, ...overrides })]);
  return name;
}

const READ: Partial<Request> = { process: 'p0', keeps: 1, mode: 'read' };
const UPGRADEABLE: Partial<Request> = { process: 'p2', mode: 'upgradeable' };

/** A reader-writer lock whose reader `wr` may keep its read. */
async function keptRead(): Promise<string> {
  const name = readerWriters.newName();
  await readerWriters.apply(name, [enqueue('wr', READ)]);
  return name;
}

const wordsOfReaders = async (
  name: string,
  ...operations: readonly Operation[]
): Promise<readonly string[]> => (await readerWriters.apply(name, operations, { process: 'p1' })).reply.wake;

const wordsOf = async (name: string, ...operations: readonly Operation[]): Promise<readonly string[]> =>
  (await driver.apply(name, operations, { process: 'p1' })).reply.wake;

const another: Partial<Request> = { process: 'p1' };

describe('a keeper is sent a wake-up', () => {
  it.each([
    ['has to wait behind it', enqueue('w1', another)],
    ['is a try and finds the lock busy', tryOnce('w1', another)],
    ['wants to keep the seat as well', enqueue('w1', { ...another, keeps: 999 })],
    ['finds the queue full', enqueue('w1', { ...another, maxMembers: 1 })],
  ])('when a request of another process %s', async (_, request) => {
    const name = await kept();
    expect(await wordsOf(name, request)).toEqual(['p0:wh:-1']);
  });

  it('again when a waiting request is sent again', async () => {
    const name = await kept();
    await driver.apply(name, [enqueue('w1', another)]);
    expect(await wordsOf(name, enqueue('w1', another))).toEqual(['p0:wh:-1']);
  });

  it('for each request of an update, as long as it holds the lock', async () => {
    const name = await kept();
    const words = await wordsOf(name, enqueue('w1', another), tryOnce('w2', another), leave('wh'));
    const givenBack = words.at(-1)?.split(':')[0];
    expect([...words.slice(0, -1), givenBack]).toEqual(['p0:wh:-1', 'p0:wh:-1', '-wh']);
  });

  it('even after it was asked to release, but not if its request said that it keeps nothing', async () => {
    const asked = await kept();
    await driver.apply(asked, [ask('wh')]);
    expect(await wordsOf(asked, enqueue('w1', another))).toEqual(['p0:wh:-1']);
    for (const keeps of [0, undefined]) {
      const name = await kept({ keeps });
      expect(await wordsOf(name, enqueue('w1', another))).toEqual([]);
    }
  });

  it('by the same update that made it a keeper, if that update also brings a request of another process', async () => {
    const name = driver.newName();
    expect(await wordsOf(name, enqueue('wh', KEEPS), enqueue('w1', another))).toEqual(['p0:wh:-1']);
  });

  it('wherever it stands among the holders of a semaphore, and the other holders are sent none', async () => {
    const name = semaphores.newName();
    const one: Partial<Request> = { permits: 1, limit: 3 };
    await semaphores.apply(name, [
      enqueue('wa', { ...one, ...KEEPS }),
      enqueue('wb', { ...one, process: 'p2' }),
      enqueue('wc', { ...one, process: 'p3', keeps: 1 }),
    ]);
    const { reply } = await semaphores.apply(name, [enqueue('w1', { ...one, ...another })]);
    expect(reply.wake).toEqual(['p0:wa:-1', 'p3:wc:-1']);
    const tooMuch = await semaphores.apply(name, [enqueue('w2', { ...one, ...another, permits: 4 })]);
    expect(tooMuch.reply.wake).toEqual(['p0:wa:-1', 'p3:wc:-1']);
  });
});

describe('a keeper is sent no wake-up', () => {
  it('for a request that comes after its not-after', async () => {
    const name = await kept();
    const notAfter = new Date(Date.now() - 1_000);
    for (const request of [enqueue, tryOnce]) {
      expect(await wordsOf(name, request('w1', { ...another, notAfter }))).toEqual([]);
    }
  });

  it('for a request of its own process', async () => {
    const name = await kept();
    expect(await wordsOf(name, enqueue('w1', { process: 'p0' }))).toEqual([]);
  });

  it('for a new limit that its permits fit into, but one for a limit that they exceed', async () => {
    const name = semaphores.newName();
    const two: Partial<Request> = { permits: 2, limit: 3, ...KEEPS };
    await semaphores.apply(name, [enqueue('wa', two)]);
    const notAfter = new Date(Date.now() + 60_000);
    for (const [limit, words] of [
      [2, []],
      [1, ['p0:wa:-1']],
    ] as const) {
      const { reply } = await semaphores.apply(name, [{ type: 'resize', limit, notAfter }]);
      expect(reply.wake).toEqual(words);
    }
  });

  it('for a request that is admitted beside it', async () => {
    const name = semaphores.newName();
    const one: Partial<Request> = { permits: 1, limit: 3 };
    await semaphores.apply(name, [enqueue('wa', { ...one, ...KEEPS })]);
    for (const request of [enqueue('w1', { ...one, ...another }), tryOnce('w2', { ...one, ...another })]) {
      expect((await semaphores.apply(name, [request])).reply.wake).toEqual([]);
    }
  });

  it('for its own request when that is sent again', async () => {
    const name = await kept();
    expect(await wordsOf(name, enqueue('wh', KEEPS))).toEqual([]);
    expect(await wordsOf(name, tryOnce('wh', KEEPS))).toEqual([]);
  });

  it('when its lease has expired and another process takes its seat', async () => {
    const name = await kept();
    await driver.lapse(name, ['wh']);
    expect(await wordsOf(name, enqueue('w1', another))).toEqual([]);
    expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: 'w1' }]);
  });

  it('for an operation that brings no new request', async () => {
    const name = await kept();
    await driver.apply(name, [enqueue('w1', another)]);
    expect(await wordsOf(name)).toEqual([]);
    expect(await wordsOf(name, extend('w1'))).toEqual([`~${NONCE}`]);
    expect(await wordsOf(name, cancel('w1'))).toEqual([]);
    expect(await wordsOf(name, leave('w1'))).toEqual(['-w1:0']);
    expect(await wordsOf(name, resize(1))).toEqual([]);
  });

  it('for a read that is granted beside its read, nor for an upgrade that is granted at once', async () => {
    const name = await keptRead();
    expect(await wordsOfReaders(name, enqueue('w1', { ...another, mode: 'read' }))).toEqual([]);
    expect(await wordsOfReaders(name, enqueue('wu', UPGRADEABLE))).toEqual([]);
    await readerWriters.apply(name, [leave('wr'), leave('w1')]);
    const words = await wordsOfReaders(name, exchange('wu', 1, 'write'));
    expect(words).toEqual([expect.stringMatching(/^p2:wu:\d+$/)]);
  });

  it('for a downgrade, the cancel of an upgrade, or a copy of an upgrade that comes after its cancel', async () => {
    const name = await keptRead();
    await readerWriters.apply(name, [enqueue('wu', UPGRADEABLE), exchange('wu', 1, 'write')]);
    for (const change of [
      exchange('wu', 2, 'upgradeable'),
      exchange('wu', 1, 'write'),
      exchange('wu', 3, 'read'),
    ]) {
      expect(await wordsOfReaders(name, change)).toEqual([]);
    }
  });
});

describe('the keeper of a read is sent a wake-up', () => {
  it.each([
    ['a writer has to wait', enqueue('w1', another)],
    ['a writer tries', tryOnce('w1', another)],
  ])('when %s behind it', async (_, request) => {
    expect(await wordsOfReaders(await keptRead(), request)).toEqual(['p0:wr:-1']);
  });

  it.each([
    ['waits', true, 'p2'],
    ['is a single try', false, 'p2'],
    ['is of its own process', true, 'p0'],
  ])('when an upgrade beside it %s, each time that the upgrade is sent', async (_, waits, process) => {
    const name = await keptRead();
    await readerWriters.apply(name, [enqueue('wu', { ...UPGRADEABLE, process })]);
    for (let copy = 0; copy < 2; copy += 1) {
      expect(await wordsOfReaders(name, exchange('wu', 1, 'write', waits))).toEqual(['p0:wr:-1']);
    }
  });

  it('when a read has to wait behind a writer', async () => {
    const name = await keptRead();
    await readerWriters.apply(name, [enqueue('w1', another)]);
    expect(await wordsOfReaders(name, enqueue('w2', { ...another, mode: 'read' }))).toEqual(['p0:wr:-1']);
  });

  it('and its lease reserves no further tokens, however it was granted', async () => {
    const behind = readerWriters.newName();
    await readerWriters.apply(behind, [enqueue('ww', { mode: 'write' }), enqueue('wr', READ)]);
    await readerWriters.apply(behind, [leave('ww')]);
    for (const name of [behind, await keptRead()]) {
      const { leases, fence } = versionOf(await readerWriters.read(name));
      expect(leases).toMatchObject([{ id: 'wr', token: fence, keeps: 1 }]);
    }
  });
});

describe('the read of a far keeper', () => {
  const isTold = async (name: string, process: string, { collection } = driver): Promise<boolean> => {
    const projection = keeperProjection(KINDS_BY_LEASE_FIELDS, process);
    const found = await collection.findOne({ _id: name }, { projection });
    if (found === null) throw new Error(`there is no document ${name}`);
    return readForKeeper(found).othersWait;
  };

  it('shows a try of another process that has failed, until the next update', async () => {
    const name = await kept();
    expect(await isTold(name, 'p0')).toBe(false);
    await driver.apply(name, [tryOnce('w1', another)]);
    expect(await isTold(name, 'p0')).toBe(true);
    for (const process of ['p', '0', 'p00', 'p.', '.*', 'p2'])
      expect(await isTold(name, process)).toBe(false);
    await driver.apply(name, [extend('wh')]);
    expect(await isTold(name, 'p0')).toBe(false);
  });

  it('shows no word of another meaning, and none if `wake` is corrupt', async () => {
    const name = await kept();
    for (const wake of [' p0:wh:1', ' p0:wh:0', ' p0:wh:-10', 'p0:wh:-1', ' -p0:wh:-1', 7, null, ['p0']]) {
      await driver.tamper(name, { $set: { wake } });
      expect(await isTold(name, 'p0')).toBe(false);
    }
    await driver.tamper(name, { $set: { wake: ' p1:w1:3 p0:wh:-1 ~n' } });
    expect(await isTold(name, 'p0')).toBe(true);
  });

  it('shows that another process waits, or that a smaller limit is exceeded', async () => {
    const name = await kept();
    await driver.apply(name, [enqueue('w1', another)]);
    await driver.tamper(name, { $set: { wake: '' } });
    expect(await isTold(name, 'p0')).toBe(true);
    const semaphore = semaphores.newName();
    await semaphores.apply(semaphore, [enqueue('wh', { ...KEEPS, limit: 3, permits: 3 })]);
    await semaphores.apply(semaphore, [resize(3)]);
    expect(await isTold(semaphore, 'p0', semaphores)).toBe(false);
    await semaphores.apply(semaphore, [resize(2)]);
    await semaphores.tamper(semaphore, { $set: { wake: '' } });
    expect(await isTold(semaphore, 'p0', semaphores)).toBe(true);
  });
});

describe('the read after an extension', () => {
  const look = async (name: string, process: string, { collection } = driver): Promise<boolean> => {
    const projection = keptLeasesProjection(KINDS_BY_LEASE_FIELDS, process);
    const found = await collection.findOne({ _id: name }, { projection });
    if (found === null) throw new Error(`there is no document ${name}`);
    return readLeases(found).othersWait;
  };

  it('shows whether another process waits, in case the wake-up about it was missed', async () => {
    const name = await kept();
    expect(await look(name, 'p0')).toBe(false);
    await driver.apply(name, [enqueue('w0', { process: 'p0' })]);
    expect(await look(name, 'p0')).toBe(false);
    await driver.apply(name, [enqueue('w1', another)]);
    expect(await look(name, 'p0')).toBe(true);
    expect(await look(name, 'p1')).toBe(true);
    await driver.apply(name, [leave('w0')]);
    expect(await look(name, 'p1')).toBe(false);
  });

  it('shows whether a writer waits, also by an upgrade, of whatever process', async () => {
    const name = await keptRead();
    await readerWriters.apply(name, [enqueue('wu', { ...UPGRADEABLE, process: 'p0' })]);
    expect(await look(name, 'p0', readerWriters)).toBe(false);
    await readerWriters.apply(name, [exchange('wu', 1, 'write')]);
    expect(await look(name, 'p0', readerWriters)).toBe(true);
    await readerWriters.apply(name, [exchange('wu', 2, 'upgradeable')]);
    expect(await look(name, 'p0', readerWriters)).toBe(false);
  });

  it('does not count a waiter whose place has lapsed', async () => {
    const name = await kept();
    await driver.apply(name, [enqueue('w1', another)]);
    await driver.lapse(name, ['w1']);
    expect(await look(name, 'p0')).toBe(false);
  });

  it('shows no waiter if it was not asked about waiters, or if the queue is corrupt', async () => {
    const name = await kept();
    await driver.apply(name, [enqueue('w1', another)]);
    const found = await driver.collection.findOne(
      { _id: name },
      { projection: leasesProjection(KINDS_BY_LEASE_FIELDS, 'p0') },
    );
    expect(readLeases(found ?? {})).toMatchObject({ othersWait: false, leases: [{ id: 'wh' }] });
    await driver.tamper(name, { $set: { queue: 7 } });
    expect(await look(name, 'p0')).toBe(false);
  });
});
