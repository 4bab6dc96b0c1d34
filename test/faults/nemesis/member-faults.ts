import { pause } from '../../../lab/patience.js';
import { during, last, losePrimary } from './fault-world.js';
import type { Fault, FaultWorld } from './fault-world.js';

export const killedPrimary: Fault = {
  number: 1,
  title: 'the primary is killed',
  async inject(world) {
    await during(world, this, 'kill -9', async () => {
      const first = await losePrimary(world, this, (primary) => primary.kill());
      await last(world);
      await first.restart();
    });
    if (!world.random.percent(30)) return;
    await during(world, this, 'kill -9 again', async () => {
      const second = await losePrimary(world, this, (primary) => primary.kill());
      await second.restart();
    });
  },
};

export const stoppedPrimary: Fault = {
  number: 2,
  title: 'the primary stands still, and goes on later',
  async inject(world) {
    await during(world, this, 'SIGSTOP', async () => {
      const primary = await losePrimary(world, this, (member) => {
        member.stop();
      });
      try {
        await last(world);
      } finally {
        primary.continue();
      }
    });
  },
};

export const stepDowns: Fault = {
  number: 3,
  title: 'the primary steps down, again and again',
  async inject(world) {
    await during(world, this, 'replSetStepDown', async () => {
      for (let left = world.random.between(1, 3); left > 0; left -= 1) {
        await losePrimary(world, this, (primary) => primary.stepDown());
        await world.cluster.untilPrimary();
        await pause(world.random.between(200, 3_000));
      }
    });
  },
};

export const majorityLost: Fault = {
  number: 4,
  title: 'two of three members are gone',
  async inject(world) {
    const { cluster, random } = world;
    const isKill = random.percent(50);
    await during(world, this, isKill ? 'two are killed' : 'two stand still', async () => {
      const primary = await cluster.untilPrimary();
      const others = cluster.members.filter((member) => member !== primary);
      // Either the primary and another member, or the two members that the primary needs.
      const [one, other] = random.percent(50) ? others : [primary, others[0]];
      const victims = [one, other].filter((member) => member !== undefined);
      if (isKill) await Promise.all(victims.map((member) => member.kill()));
      else for (const member of victims) member.stop();
      await last(world);
      for (const member of victims) {
        if (isKill) await member.restart();
        else member.continue();
      }
    });
  },
};

/** The members' clocks differ by more than the allowance: only tokens protect. */
export const farClocks: Fault = {
  number: 13,
  title: 'the clock of a member jumps, and it becomes primary',
  excuses: ['exclusion', 'steady lease'],
  missing: needsClocks,
  async inject(world) {
    await skew(world, this, world.random.pick(['+30s', '+5s', '+1s', '-1s', '-5s', '+0 x1.1', '+0 x0.9']));
  },
};

/** The members' clocks differ by less than the allowance of the shortest lease: nothing may go wrong. */
export const nearClocks: Fault = {
  number: 13,
  title: 'the clock of a member is a little off, and it becomes primary',
  missing: needsClocks,
  async inject(world) {
    await skew(world, this, world.random.pick(['+0.05s', '-0.05s', '+0.08s', '-0.08s']));
  },
};

function needsClocks({ cluster }: FaultWorld): string | undefined {
  return cluster.canSetClocks ? undefined : 'libfaketime is not installed';
}

async function skew(world: FaultWorld, fault: Fault, offset: string): Promise<void> {
  const { cluster, random } = world;
  await during(world, fault, `clock ${offset}`, async () => {
    const member = random.pick(cluster.members as [(typeof cluster.members)[number]]);
    await member.setClock(offset);
    await pause(random.between(200, 2_000));
    // The next primary has another clock than this one.
    await losePrimary(world, fault, (primary) => primary.stepDown());
    await last(world);
    await member.setClock('+0');
  });
}
