import { afterAll, describe, expect, inject, it } from 'vitest';

import { extension, leasesProjection, readLeases } from '../../../src/protocol/pipeline/extension.js';
import { pollProjection, readPoll } from '../../../src/protocol/pipeline/polls.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { transition } from '../../../src/protocol/pipeline/transition.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import {
  ALL_SEATS,
  ELECTION,
  KINDS,
  KINDS_BY_LEASE_FIELDS,
  READER_WRITER,
} from '../../model/documents/lock-kinds.js';
import { LEASE_MS, NONCE, RETENTION_MS, enqueue, extend } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** `wh` holds with a lease of 60 s; `w1` and `w2` wait with leases of 30 s. All of them expire in five seconds. */
async function contended(): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('wh', { leaseMs: 60_000 }), enqueue('w1'), enqueue('w2')]);
  await driver.lapse(name, ['wh', 'w1', 'w2'], soon());
  return name;
}

const soon = (): Date => new Date(Date.now() + 5_000);

const expiriesOf = async (name: string): Promise<Readonly<Record<string, number>>> => {
  const { leases, queue } = versionOf(await driver.read(name));
  const all = [...leases.map((lease) => [lease.id, lease] as const), ...queue];
  return Object.fromEntries(all.map(([id, { expiresAt }]) => [id, expiresAt.getTime()]));
};

/** Both ways to extend a lease, each with the `wake` that it leaves. They return the server time of the update. */
const ways = [
  [
    'an operation',
    ` ~${NONCE}`,
    async (name: string, ...ids: readonly string[]) => (await driver.apply(name, [extend(...ids)])).nowMs,
  ],
  [
    'the batch',
    '',
    async (name: string, ...ids: readonly string[]) =>
      (await driver.extend(name, ids, LEASE_MS, RETENTION_MS))?.nowMs ?? 0,
  ],
] as const;

describe.each(ways)('extending by %s', (_, wake, extendBy) => {
  it('gives a lease its full length from now, and does not change the others', async () => {
    const name = await contended();
    const before = await expiriesOf(name);
    const nowMs = await extendBy(name, 'wh', 'w9');
    expect(await expiriesOf(name)).toEqual({ ...before, wh: nowMs + 60_000 });
  });

  it('never shortens a lease, even if the clock has stepped back', async () => {
    const name = await contended();
    const late = new Date(Date.now() + 3_600_000);
    await driver.lapse(name, ['wh'], late);
    await extendBy(name, 'wh');
    expect(await expiriesOf(name)).toMatchObject({ wh: late.getTime() });
  });

  it('never revives an expired lease', async () => {
    const name = await contended();
    await driver.lapse(name, ['wh']);
    await extendBy(name, 'wh');
    const { leases } = versionOf(await driver.read(name));
    expect(leases.every(({ id, expiresAt }) => id !== 'wh' || expiresAt.getTime() < Date.now())).toBe(true);
  });

  it('changes neither the token nor anything else of the lease', async () => {
    const name = await contended();
    const before = await driver.read(name);
    const nowMs = await extendBy(name, 'wh');
    const holder = { ...(before?.['holder'] as object), expiresAt: new Date(nowMs + 60_000) };
    expect(await driver.read(name)).toEqual({ ...before, holder, wake });
  });
});

it('a term that is over is not extended, although its lease is live in the transition of the election', async () => {
  await using elections = new LockDocumentDriver(inject('mongoUri'), ELECTION.rules);
  const name = elections.newName();
  await elections.apply(name, [enqueue('wh', { candidateId: 'a', value: '', transitionMs: 60_000 })]);
  const expiresAt = new Date(Date.now() + 30_000);
  await elections.lapse(name, ['wh'], expiresAt);
  await elections.extend(name, ['wh'], LEASE_MS, RETENTION_MS);
  await elections.apply(name, [extend('wh')]);
  expect(versionOf(await elections.read(name)).leases).toMatchObject([{ id: 'wh', expiresAt }]);
});

describe('extending by an operation', () => {
  it('always writes, even for an unknown attempt, so that its acknowledgement by a majority proves something', async () => {
    const name = await contended();
    const before = (await driver.oplog(name)).length;
    await driver.apply(name, [{ ...extend('w9'), nonce: '1' }]);
    await driver.apply(name, [{ ...extend('w9'), nonce: '2' }]);
    expect((await driver.oplog(name)).length).toBe(before + 2);
  });

  it('gives a place in the queue its full lease from now', async () => {
    const name = await contended();
    const before = await expiriesOf(name);
    const { nowMs } = await driver.apply(name, [extend('w2', 'w1')]);
    expect(await expiriesOf(name)).toEqual({ ...before, w1: nowMs + LEASE_MS, w2: nowMs + LEASE_MS });
  });
});

describe('extending by the batch', () => {
  it('extends leases in several documents, and the read after it shows which of them are live', async () => {
    const names = [await contended(), await contended(), await contended()] as const;
    await driver.lapse(names[1], ['wh']);
    const pipeline = extension([mutexRules], ['wh'], 60_000, RETENTION_MS);
    await driver.collection.updateMany({ _id: { $in: [...names] } }, [...pipeline]);
    const found = await driver.collection
      .find({ _id: { $in: [...names] } }, { projection: leasesProjection([mutexRules], 'p0') })
      .sort({ _id: 1 })
      .toArray();
    expect(found.map(({ leases }) => (leases as readonly unknown[]).length)).toEqual([1, 0, 1]);
    const [first, , third] = found as unknown as readonly { leases: readonly { expiresAt: Date }[] }[];
    for (const document of [first, third]) {
      expect(document?.leases[0]?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 50_000);
    }
  });

  it('extends locks of all kinds in one command, and the read after it shows how each is held', async () => {
    await using readers = new LockDocumentDriver(inject('mongoUri'), READER_WRITER.rules);
    const demand = { permits: 2, limit: 3, mode: 'read' } as const;
    const names: string[] = [];
    for (const { rules } of KINDS) {
      const name = readers.newName();
      const pipeline = transition(rules, [
        enqueue('wh', demand),
        enqueue('w1', demand),
        enqueue('w2', demand),
      ]);
      await readers.collection.updateOne({ _id: name }, [...pipeline], { upsert: true });
      await readers.lapse(name, ['wh'], soon());
      names.push(name);
    }
    await readers.collection.updateMany({ _id: { $in: names } }, [
      ...extension(ALL_SEATS, ['wh'], LEASE_MS, RETENTION_MS),
    ]);
    const found = await readers.collection
      .find({ _id: { $in: names } }, { projection: leasesProjection(KINDS_BY_LEASE_FIELDS, 'p0') })
      .sort({ _id: 1 })
      .toArray();
    const leases = found.map((document) => readLeases(document).leases);
    expect(leases.map((each) => each.map(({ id }) => id))).toEqual([
      ['wh'],
      ['wh', 'w1', 'w2'],
      ['wh'],
      ['wh'],
    ]);
    expect(leases.map(([first]) => [first?.mode, first?.permits])).toEqual([
      [undefined, undefined],
      ['read', undefined],
      [undefined, 2],
      [undefined, undefined],
    ]);
    for (const [first] of leases) expect(first?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 20_000);
  });

  it('shows a process no lease of another process', async () => {
    const name = await contended();
    const projection = leasesProjection([mutexRules], 'p1');
    expect(await driver.collection.findOne({ _id: name }, { projection })).toMatchObject({ leases: [] });
  });

  it('creates no document, admits no waiter and drops no lapsed place', async () => {
    const missing = driver.newName();
    expect(await driver.extend(missing, ['wh'], LEASE_MS, RETENTION_MS)).toBeNull();
    expect(await driver.read(missing)).toBeNull();

    const name = await contended();
    await driver.lapse(name, ['wh', 'w1']);
    const before = await driver.read(name);
    await driver.extend(name, ['w1', 'w2'], LEASE_MS, 0);
    expect(await driver.read(name)).toEqual(before);
  });
});

describe('a poll', () => {
  const poll = async (name: string, process: string) => {
    const projection = pollProjection(KINDS_BY_LEASE_FIELDS, process);
    const found = await driver.collection.findOne({ _id: name }, { projection });
    if (found === null) throw new Error(`there is no document ${name}`);
    return readPoll(found);
  };

  it('shows the waiting attempts of the process, the place of the first, and the length of the queue', async () => {
    const name = driver.newName();
    await driver.apply(name, [
      enqueue('wh'),
      enqueue('w9'),
      enqueue('w2', { process: 'p2' }),
      enqueue('w3'),
      enqueue('w1', { process: 'p1' }),
      enqueue('w4', { process: 'p2' }),
    ]);
    const shown = await Promise.all(['p0', 'p1', 'p2', 'p3'].map((process) => poll(name, process)));
    expect(shown.map(({ waiting, place, waiters }) => ({ waiting, place, waiters }))).toEqual([
      { waiting: ['w9', 'w3'], place: 0, waiters: 5 },
      { waiting: ['w1'], place: 3, waiters: 5 },
      { waiting: ['w2', 'w4'], place: 1, waiters: 5 },
      { waiting: [], place: -1, waiters: 5 },
    ]);
    expect(shown.map(({ leases }) => leases.map(({ id }) => id))).toEqual([['wh'], [], [], []]);
  });

  it('shows no waiter if the queue is corrupt', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh')]);
    await driver.tamper(name, { $set: { queue: 7 } });
    expect(await poll(name, 'p0')).toMatchObject({ waiting: [], place: -1, waiters: 0 });
  });
});
