import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { LockHandle, LockProviderOptions, LostEvent } from '../../../src/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { eventually, pause } from '../../../lab/patience.js';
import { useThreeDeployments } from './deployments.js';

const deployments = useThreeDeployments();

const MAJORITY = [0, 2];

/** Revokes the seats of these deployments, each through a provider of its deployment. */
async function revoke(
  name: string,
  options: { why: string; force?: boolean },
  indices = MAJORITY,
): Promise<readonly string[]> {
  return await Promise.all(
    indices.map(async (index) => {
      const locks = new LockProvider(deployments.db(index), { createIndexes: false });
      whenTestEnds(() => locks.close());
      await locks.revoke(name, options);
      return locks.processId;
    }),
  );
}

async function held(
  name: string,
  leaseMs = 9_000,
  options: LockProviderOptions = {},
): Promise<{ readonly hold: LockHandle; readonly lost: readonly LostEvent[] }> {
  const locks = deployments.provider({ ...options, leaseMs });
  const lost: LostEvent[] = [];
  locks.on('lost', (event) => lost.push(event));
  const hold = await locks.createMutex(name).acquire({ timeoutMs: 20_000 });
  await eventually('every deployment has granted a seat', async () => {
    const stored = await Promise.all([0, 1, 2].map((index) => deployments.document(index, name)));
    return stored.every((document) => document?.['holder'] !== null && document !== null);
  });
  return { hold, lost };
}

describe('a lock of a quorum that is revoked in a majority of its deployments', () => {
  it('tells its holder which process revoked it and why, and is lost as revoked when its leases end', async () => {
    const { hold, lost } = await held('asked');
    const { signal, releaseRequested } = hold;
    const by = await revoke('asked', { why: 'maintenance' });
    await eventually('it is asked for', () => releaseRequested.aborted);
    expect(by.map((process) => `Lock "asked" was revoked by ${process} for "maintenance"`)).toContain(
      (releaseRequested.reason as Error).message,
    );
    await eventually('it is lost', () => signal.aborted);
    expect(signal.reason).toMatchObject({ why: 'revoked' });
    expect(lost).toMatchObject([{ lockName: 'asked', id: hold.id, why: 'revoked' }]);
  });

  it('is lost as revoked if it is revoked by force', async () => {
    const { hold, lost } = await held('forced');
    const { signal } = hold;
    await revoke('forced', { why: 'it hangs', force: true });
    await eventually('it is lost', () => signal.aborted);
    expect(signal.reason).toMatchObject({ why: 'revoked' });
    expect((signal.reason as Error).message).toMatch(/it was revoked by \S+ for "it hangs"$/);
    // A handle that nobody has any more may be collected. Its lock is then released and not lost.
    expect(lost).toMatchObject([{ id: hold.id, why: 'revoked' }]);
  });

  it('is reported as revoked even if only the release finds that out', async () => {
    const { hold, lost } = await held('released', 60_000);
    await revoke('released', { why: 'it hangs', force: true });
    expect(hold.isHeld).toBe(true);
    expect(await hold.release()).toBe(false);
    expect(lost).toMatchObject([{ lockName: 'released', id: hold.id, why: 'revoked' }]);
  });
});

it('a hold of a quorum that was revoked in one deployment goes on in the others, and takes no seat there again', async () => {
  const leaseMs = 9_000;
  const { hold, lost } = await held('one of three', leaseMs, { extendEveryMs: 500 });
  await revoke('one of three', { why: 'it hangs', force: true }, [1]);
  // Every third of a lease, a hold asks for the seats that it misses.
  await pause(leaseMs + 500);
  expect(await deployments.document(1, 'one of three')).toMatchObject({ holder: null });
  expect([hold.isHeld, lost]).toEqual([true, []]);
  expect(await hold.release()).toBe(true);
});
