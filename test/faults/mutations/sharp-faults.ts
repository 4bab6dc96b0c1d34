import type { Document } from 'mongodb';

import { pause } from '../../../lab/patience.js';
import { drawVictim, during, last } from '../nemesis/fault-world.js';
import type { Fault, FaultWorld } from '../nemesis/fault-world.js';
import { APP_NAME } from '../workload/messages.js';

/** Faults for one bug each, which random faults would show too rarely in a trial of seconds. */

/** The other members elect another primary, and the writes of the old one for clients are rolled back. */
export const isolatedPrimary: Fault = {
  number: 5,
  title: 'the primary is cut off from the other members, and not from the clients',
  async inject(world) {
    const { cluster } = world;
    await during(world, this, 'from the other members', async () => {
      const { proxy } = await cluster.untilPrimary();
      proxy.cut('members');
      await last(world);
      proxy.heal();
      await cluster.untilPrimary();
    });
  },
};

/**
 * A majority misses the groups of operations, and the old primary says so at once, while it is still the primary. When it
 * is replaced, it would be too late: the processes do not wait for its answers any more.
 */
export const unacknowledgedGroups: Fault = {
  number: 5,
  title: 'the primary is cut off from the other members, and reports that no majority has the updates',
  async inject(world) {
    const { cluster } = world;
    await during(world, this, 'from the other members, with errors', async () => {
      const primary = await cluster.untilPrimary();
      const failPoint = (mode: 'alwaysOn' | 'off'): Document => ({
        ...{ configureFailPoint: 'failCommand', mode },
        data: { failCommands: ['update'], appName: APP_NAME, writeConcernError: NOT_REPLICATED },
      });
      await primary.admin(failPoint('alwaysOn'));
      primary.proxy.cut('members');
      await last(world);
      await primary.admin(failPoint('off'));
      primary.proxy.heal();
      await cluster.untilPrimary();
    });
  },
};

/** With the fail point, the server does not wait for the majority before it reports this error. */
const NOT_REPLICATED = { code: 64, errmsg: 'waiting for replication timed out' };

/** Delays replies: a lease that is counted from its reply instead of its request lasts too long. */
export const lateReplies: Fault = {
  number: 6,
  title: 'replies are late, and then a process stands still',
  async inject(world) {
    const { cluster } = world;
    await during(world, this, 'late replies', async () => {
      const { proxy } = await cluster.untilPrimary();
      proxy.freeze('clients', 'replies');
      await last(world);
      proxy.heal();
      await pause(20);
      await standStill(world);
    });
  },
};

/** One cut with a slow repair. Most repairs take milliseconds, and after a second cut polls find what was missed. */
export const slowReopening: Fault = {
  number: 15,
  title: 'the wake streams break once, and take a while to open again',
  async inject(world) {
    const { cluster } = world;
    await during(world, this, 'streams cut on slow wires', async () => {
      for (const { proxy } of cluster.members) proxy.delay('clients', { latencyMs: 100 });
      await pause(500);
      for (const { proxy } of cluster.members) proxy.cutStreams();
      await pause(1_500);
      for (const { proxy } of cluster.members) proxy.heal();
    });
    // Until the streams count as proven.
    await pause(5_500);
  },
};

/** The clocks differ by most of the allowance of a lease, so that a grant comes too early by exactly that much. */
export const skewedFailover: Fault = {
  number: 13,
  title: 'the next primary has a clock that is ahead by less than the allowance, and a process stands still',
  missing: ({ cluster }) => (cluster.canSetClocks ? undefined : 'libfaketime is not installed'),
  async inject(world) {
    const { cluster } = world;
    await during(world, this, 'clocks ahead', async () => {
      const primary = await cluster.untilPrimary();
      const next = cluster.members.find((member) => member !== primary) ?? primary;
      await next.setClock('+1.3s');
      // At the same time, so that the next primary judges the leases of this one.
      await Promise.all([standStill(world), next.stepUp()]);
      await next.setClock('+0');
    });
  },
};

/** Pauses a process for longer than a lease, so that it extends nothing and still believes in its holds. */
async function standStill(world: FaultWorld): Promise<void> {
  const worker = drawVictim(world);
  worker.stop();
  try {
    await pause(1.5 * world.leaseMs);
  } finally {
    worker.continue();
  }
}
