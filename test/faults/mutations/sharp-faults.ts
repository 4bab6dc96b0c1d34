import { pause } from '../../../lab/patience.js';
import { drawVictim, during, last } from '../nemesis/fault-world.js';
import type { Fault, FaultWorld } from '../nemesis/fault-world.js';

/** Aimed at one bug each, which the random faults would meet too rarely for a trial of seconds. */

/** The others elect another primary, and what the old one did meanwhile for clients is rolled back. */
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

/** What is counted from a reply instead of from its request lasts too long here. */
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

/** Most cuts are mended within milliseconds, and from the second in a row on polls find what was missed. */
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

/** By most of the allowance of a lease, so that somebody is granted early by exactly that much. */
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
      // At once, so that leases of the one primary are judged by the other.
      await Promise.all([standStill(world), next.stepUp()]);
      await next.setClock('+0');
    });
  },
};

/** A process that extends nothing for longer than a lease, and believes in what it has. */
async function standStill(world: FaultWorld): Promise<void> {
  const worker = drawVictim(world);
  worker.stop();
  try {
    await pause(1.5 * world.leaseMs);
  } finally {
    worker.continue();
  }
}
