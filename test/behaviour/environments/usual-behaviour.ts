import type { CommandStartedEvent } from 'mongodb';
import { expect } from 'vitest';

import { AcquireTimeoutError } from '../../../src/index.js';
import type { LeaseInfo, LockProvider, Wakeups, WakeupsEvent } from '../../../src/index.js';
import { randomName } from '../../support/test-provider.js';
import { eventually, later, within } from '../../../lab/patience.js';
import { answeredTimeout } from '../../support/answered-timeout.js';

/** Long enough not to be lost on a busy machine, where an extension has a third of it for its answer. */
const LEASE_MS = 20_000;

/** Extensions are frequent, so that a test does not have to wait long for them. */
export const EXTENDED_OFTEN = { extendEveryMs: 150 };

/** The events of two providers while a test used them. */
export interface Observed {
  readonly wakeups: readonly WakeupsEvent[];
  readonly storeErrors: readonly unknown[];
  /** May still grow after the end, because the index is created in the background. */
  readonly indexErrors: readonly unknown[];
}

/** Acquires, contends, extends, inspects, hands over, revokes and releases, and expects what a plain client does. */
export async function expectUsualBehaviour(
  here: LockProvider,
  there: LockProvider,
  mode: Wakeups,
): Promise<Observed> {
  const name = randomName('lock');
  const wakeups: WakeupsEvent[] = [];
  const indexErrors: unknown[] = [];
  const storeErrors: unknown[] = [];
  const lost: unknown[] = [];
  let extensions = 0;
  for (const provider of [here, there]) {
    provider.on('wakeups', (event) => wakeups.push(event));
    provider.on('storeError', ({ error }) => storeErrors.push(error));
    provider.on('indexError', ({ error }) => indexErrors.push(error));
    provider.on('lost', (event) => lost.push(event));
    provider.on('extended', () => (extensions += 1));
  }

  const first = await here.acquireMutex(name, { leaseMs: LEASE_MS, why: 'first' });
  expectToken(first.fencingToken);
  expect(first.remainingMs).toBeLessThanOrEqual(LEASE_MS);
  expect(await there.tryAcquireMutex(name)).toBeNull();
  const timeout = await answeredTimeout((timeoutMs) => there.acquireMutex(name, { timeoutMs }));
  expect(timeout).toBeInstanceOf(AcquireTimeoutError);
  expectLease(timeout.holders[0], first.id, 'first');

  const wait = later(there.acquireMutex(name, { why: 'second' }));
  await eventually('it is extended', () => extensions >= 2);
  expect(first.isHeld).toBe(true);
  const snapshot = await eventually('it is waited for', async () => {
    const seen = await here.inspect(name);
    // The request that timed out may still be in the queue, if its cancel had no answer.
    return seen?.waiters.length === 1 && seen.waiters[0]?.why === 'second' && seen;
  });
  expectLease(snapshot.holders[0], first.id, 'first');
  expect(snapshot.waiters[0]?.process).toBe(there.processId);
  expect(snapshot.waiters[0]?.since).toBeInstanceOf(Date);
  const names: string[] = [];
  for await (const each of there.list({ prefix: name })) names.push(each.name);
  expect(names).toEqual([name]);

  expect(await first.release()).toBe(true);
  const second = await within(10_000, 'the hand-off', wait);
  expectToken(second.fencingToken);
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  await second.confirm();
  expect(await here.revoke(name)).toMatchObject({ asked: [second.id], gone: [], evicted: [] });
  await eventually('the holder is asked to release', async () => {
    await second.confirm();
    return second.releaseRequested.aborted;
  });
  expect(await second.release()).toBe(true);
  expect((await here.inspect(name))?.holders).toEqual([]);
  expect(lost).toEqual([]);
  expect(wakeups.map((event) => event.mode)).toEqual([mode]);
  return { wakeups, storeErrors, indexErrors };
}

function expectToken(token: unknown): void {
  expect(Number.isSafeInteger(token)).toBe(true);
}

function expectLease(lease: LeaseInfo | undefined, id: string, why: string): void {
  expect(lease).toMatchObject({ id, why });
  expectToken(lease?.token);
  for (const date of [lease?.acquiredAt, lease?.extendedAt, lease?.expiresAt])
    expect(date).toBeInstanceOf(Date);
}

interface Sent {
  readonly writeConcern?: unknown;
  readonly readConcern?: { readonly level?: unknown };
  readonly $readPreference?: { readonly mode?: unknown };
}

const WRITES: readonly string[] = ['findAndModify', 'update', 'createIndexes'];
const READS: readonly string[] = ['find', 'aggregate'];

/** Every command states its own write or read concern and reads from the primary, whatever the client's options. */
export function expectOwnConcerns(commands: readonly CommandStartedEvent[]): void {
  const writes = commands.filter(({ commandName }) => WRITES.includes(commandName));
  const reads = commands.filter(({ commandName }) => READS.includes(commandName));
  expect(writes.length).toBeGreaterThan(0);
  expect(reads.length).toBeGreaterThan(0);
  for (const { command } of writes) {
    expect((command as Sent).writeConcern).toEqual({ w: 'majority', j: true });
  }
  for (const { command } of reads) {
    expect(['local', 'majority']).toContain((command as Sent).readConcern?.level);
  }
  for (const { command } of [...writes, ...reads]) {
    // For a single server the driver sends `primaryPreferred`, because there is no other member.
    const { mode = 'primary' } = (command as Sent).$readPreference ?? {};
    expect(['primary', 'primaryPreferred']).toContain(mode);
  }
}
