import { afterAll, describe, expect, inject, it } from 'vitest';
import type { Lease } from '../../../src/protocol/lock-document.js';
import type { Exchange } from '../../../src/protocol/operation.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { READER_WRITER } from '../../model/documents/lock-kinds.js';
import { enqueue } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'), READER_WRITER.rules);

afterAll(() => driver[Symbol.asyncDispose]());

const upgrade = (change: number, knownToken: number): Exchange => ({
  ...{ type: 'exchange', id: 'w1', to: 'write', waits: true },
  ...{ change, knownToken },
});

async function writer(name: string): Promise<Lease> {
  const { reply } = await driver.apply(name, [enqueue('w1', { mode: 'write' })]);
  const [lease] = reply.leases;
  if (lease === undefined) throw new Error('the write was not granted');
  return lease;
}

describe('an upgrade that finds its lease stored as a write', () => {
  it('gets a new token if the process knows the stored one already, because it had given that write up (S3)', async () => {
    const name = driver.newName();
    const { token } = await writer(name);
    const { reply } = await driver.apply(name, [upgrade(2, token)]);
    expect(reply.leases).toMatchObject([{ id: 'w1', mode: 'write', change: 2 }]);
    expect(reply.leases[0]?.token).toBeGreaterThan(token);
    expect(reply.fence).toBe(reply.leases[0]?.token);

    const { reply: repeated } = await driver.apply(name, [upgrade(2, token)]);
    expect(repeated.leases).toEqual(reply.leases);
  });

  it('keeps the stored token if the process does not know it yet, because an earlier upgrade was granted', async () => {
    const name = driver.newName();
    const { token } = await writer(name);
    const { reply } = await driver.apply(name, [upgrade(2, token - 1)]);
    expect(reply.leases).toMatchObject([{ id: 'w1', mode: 'write', change: 2, token }]);
    expect(reply.fence).toBe(token);
  });
});
