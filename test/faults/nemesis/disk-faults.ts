import { eventually, pause } from '../../../lab/patience.js';
import type { SmallDisk } from '../../../lab/cluster/disk.js';
import type { FaultMember } from '../../../lab/cluster/fault-member.js';
import { slowDisks, slowDisksRefusal } from '../../../lab/cluster/slow-disk.js';
import { during, last, losePrimary } from './fault-world.js';
import type { Fault, FaultWorld } from './fault-world.js';

/** Fills the disk of this member, once while it is primary, and once while it is not. */
export const fullDisk = (disk: SmallDisk, member: FaultMember): Fault => ({
  number: 20,
  title: 'the disk of a member is full, and the member ends by itself',
  async inject(world) {
    const isFirst = world.random.percent(50);
    for (const isPrimary of [isFirst, !isFirst]) {
      await (isPrimary ? untilPrimary(world, member) : untilNoPrimary(world, member));
      await during(world, this, `the disk of ${isPrimary ? 'the primary' : 'a secondary'}`, async () => {
        try {
          const endIt = () => runOutOfRoom(world, disk, member);
          await (isPrimary ? losePrimary(world, this, endIt) : endIt());
          await last(world);
        } finally {
          await disk.free();
        }
        await member.restart();
      });
    }
  },
});

async function runOutOfRoom({ random }: FaultWorld, disk: SmallDisk, member: FaultMember): Promise<void> {
  await disk.fill();
  // The journal still has room, because its files have their full size from the beginning.
  await pause(random.between(0, 1_500));
  // The server makes a checkpoint once a minute, or when it is asked to.
  await member.admin({ fsync: 1 }).catch(() => undefined);
  await eventually('the member ends because its disk is full', () => !member.isRunning);
}

async function untilPrimary({ cluster }: FaultWorld, member: FaultMember): Promise<void> {
  await eventually('the member is primary', async () => {
    if ((await cluster.primary()) === member) return true;
    await member.stepUp();
    return false;
  });
}

async function untilNoPrimary({ cluster }: FaultWorld, member: FaultMember): Promise<void> {
  await member.stepDown();
  await eventually('another one is primary', async () => (await cluster.untilPrimary()) !== member);
}

export const laggingDisks: Fault = {
  number: 21,
  title: 'the disks of a member or two are slow',
  missing: slowDisksRefusal,
  async inject(world) {
    const { cluster, random } = world;
    const delayMs = random.pick([50, 150, 500]);
    const start = random.between(0, cluster.members.length - 1);
    const members = [...cluster.members, ...cluster.members].slice(start, start + random.between(1, 2));
    await during(world, this, `${delayMs} ms more for a sync, ${members.length} of the members`, async () => {
      const pids = members.map(({ pid }) => pid);
      const slow = await slowDisks(pids, delayMs);
      try {
        await last(world);
      } finally {
        await slow.end();
      }
    });
  },
};
