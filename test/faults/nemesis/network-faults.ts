import { pause } from '../../../lab/patience.js';
import type { Isolation } from '../../../lab/cluster/fault-cluster.js';
import type { FaultMember } from '../../../lab/cluster/fault-member.js';
import type { Traffic } from '../../../lab/cluster/fault-proxy.js';
import type { Request } from '../../../lab/cluster/wire-traffic.js';
import { randomFrom } from '../../../lab/random.js';
import { drawVictim, during, last, losePrimary } from './fault-world.js';
import type { Fault, FaultWorld } from './fault-world.js';

export const cutOff: Fault = {
  number: 5,
  title: 'clients are cut off from the primary, or from all members',
  async inject(world) {
    const { cluster, random } = world;
    const isFromAll = random.percent(40);
    await during(world, this, isFromAll ? 'from all members' : 'from the primary', async () => {
      const primary = await cluster.untilPrimary();
      const members = isFromAll ? cluster.members : [primary];
      for (const { proxy } of members) proxy.cut('clients');
      await last(world);
      letThrough(members);
    });
  },
};

/** Cuts off a worker. The others go on, and are granted its locks when its leases are over. */
export const cutOffWorker: Fault = {
  number: 5,
  title: 'one process is cut off from all members',
  async inject(world) {
    const { number, driver } = drawVictim(world);
    const { members } = world.cluster;
    await during(world, this, `worker ${number} from all members`, async () => {
      for (const { proxy } of members) proxy.cut({ driver });
      await last(world);
      letThrough(members);
    });
  },
};

/** Isolates the primary. It still answers its clients, and alone even acknowledges an update that changes nothing. */
export const isolatedPrimary: Fault = {
  number: 5,
  title: 'the primary is cut off from the other members, and clients reach both sides',
  async inject(world) {
    const { cluster, random } = world;
    const how: Isolation = random.pick(['cut', 'silence']);
    // Otherwise the old primary has usually stepped down before the election of another one.
    const isHurried = random.percent(70);
    const what = `the primary is isolated by ${how}${isHurried ? ', and another one is elected at once' : ''}`;
    await during(world, this, what, async () => {
      const others = await cluster.secondaries();
      await losePrimary(world, this, (primary) => {
        cluster.isolate(primary, how);
      });
      if (isHurried) await others[random.between(0, 1)]?.stepUp();
      await last(world);
      letThrough(cluster.members);
    });
  },
};

export const halfOpen: Fault = {
  number: 6,
  title: 'connections stand half-open, in one direction or both, one member after the other',
  async inject(world) {
    const { random } = world;
    const traffic: Traffic = random.pick(['clients', 'members', 'all']);
    await during(world, this, `freeze of ${traffic}`, async () => {
      const members = shuffled(world);
      for (const { proxy } of members.slice(0, random.between(1, members.length))) {
        proxy.freeze(traffic, random.pick(['requests', 'replies', 'both']));
        await pause(random.between(0, 1_000));
      }
      await last(world);
      for (const member of shuffled(world)) {
        letThrough([member]);
        await pause(random.between(0, 1_000));
      }
    });
  },
};

/** Whether this is a write of the library in the run's database. */
const isLockWrite =
  ({ database, collection }: FaultWorld) =>
  (request: Request): boolean =>
    request.database === database &&
    (request.body['findAndModify'] === collection || request.body['update'] === collection);

export const lostReplies: Fault = {
  number: 7,
  title: 'a write is applied and its reply is lost',
  async inject(world) {
    await during(world, this, 'replies dropped', async (tell) => {
      const { proxy } = await world.cluster.untilPrimary();
      const dropping = proxy.dropReplies(world.random.between(1, 12), isLockWrite(world));
      await last(world);
      dropping.cancel();
      tell(dropping.dropped);
    });
  },
};

export const lateRequests: Fault = {
  number: 8,
  title: 'a request comes late, when everything has been cleaned up after it',
  async inject(world) {
    await during(world, this, 'requests delivered late', async (tell) => {
      const { proxy } = await world.cluster.untilPrimary();
      const holding = proxy.holdRequests(world.random.between(1, 8), isLockWrite(world));
      await last(world);
      tell(await holding.deliver());
      // The late requests have to arrive while the documents that they change still exist.
      await pause(500);
    });
  },
};

export const lostStreams: Fault = {
  number: 15,
  title: 'the connections of the wake streams break',
  async inject(world) {
    await during(world, this, 'streams cut', async (tell) => {
      let streams = 0;
      for (let left = world.random.between(1, 10); left > 0; left -= 1) {
        for (const { proxy } of world.cluster.members) streams += proxy.cutStreams();
        tell(streams);
        await pause(world.random.between(0, 300));
      }
    });
  },
};

export const silentStreams: Fault = {
  number: 16,
  title: 'the wake streams say nothing more, and do not break',
  async inject(world) {
    await during(world, this, 'streams frozen', async () => {
      for (const { proxy } of world.cluster.members) proxy.freezeStreams();
      await last(world);
      letThrough(world.cluster.members);
    });
  },
};

export const slowWires: Fault = {
  number: 22,
  title: 'every wire is slow',
  async inject(world) {
    const { random, cluster } = world;
    const latencyMs = random.pick([1, 20, 200]);
    const bytesPerSecond = random.percent(20) ? 20_000 : undefined;
    const traffic: Traffic = random.pick(['clients', 'all']);
    // A generator of its own, because the number of loads must not change the plan of the round.
    const jitter = randomFrom(random.between(0, 2 ** 31 - 1));
    await during(world, this, `${latencyMs} ms for ${traffic}`, async () => {
      for (const { proxy } of cluster.members) {
        proxy.delay(traffic, {
          latencyMs,
          jitterMs: () => jitter.between(0, Math.ceil(latencyMs / 2)),
          ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
        });
      }
      await last(world);
      letThrough(cluster.members);
    });
  },
};

function shuffled({ cluster, random }: FaultWorld): readonly FaultMember[] {
  const drawn = cluster.members.map((member) => ({ member, at: random.between(0, 1_000_000) }));
  return drawn.sort((a, b) => a.at - b.at).map(({ member }) => member);
}

function letThrough(members: readonly FaultMember[]): void {
  for (const { proxy } of members) proxy.heal();
}
