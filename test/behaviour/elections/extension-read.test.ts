import { describe, expect, it } from 'vitest';

import { leasesProjection, readLeases } from '../../../src/protocol/pipeline/extension.js';
import { countedLeftMs } from '../../../src/protocol/lock-document.js';
import { KINDS_BY_LEASE_FIELDS } from '../../model/documents/lock-kinds.js';
import { testProvider } from '../../support/test-provider.js';

describe('the read that follows an extension of a term', () => {
  it('shows the lease with the transition, but the leader counts only on the lease', async () => {
    const [leaseMs, transitionMs] = [60_000, 40_000];
    const { locks, db } = await testProvider({ leaseMs });
    const election = locks.createLeaderElection('e', { transitionMs });
    await election.start();
    await election.untilElected();
    const projection = leasesProjection(KINDS_BY_LEASE_FIELDS, locks.processId);
    const found = await db
      .collection<{ _id: string }>('distributed.locks')
      .findOne({ _id: 'e' }, { projection });
    const { leases, nowMs } = readLeases(found ?? {});
    const [term] = leases;
    if (term === undefined) throw new Error('the read shows no lease');
    expect(term.leaseMs).toBe(leaseMs + transitionMs);
    expect(countedLeftMs(term, nowMs)).toBeLessThanOrEqual(leaseMs);
    await election.stop();
  });
});
