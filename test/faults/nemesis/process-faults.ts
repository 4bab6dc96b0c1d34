import { pause } from '../../../lab/patience.js';
import { drawVictim, during, last } from './fault-world.js';
import type { Fault } from './fault-world.js';

/** How long to wait for a worker that adds to a set. */
const ADDING_BOUND_MS = 5_000;

export const stoppedWorker: Fault = {
  number: 10,
  title: 'a process stands still for longer than a lease',
  async inject(world) {
    const worker = drawVictim(world);
    await during(world, this, `SIGSTOP of worker ${worker.number}`, async () => {
      worker.stop();
      try {
        await pause(Math.round((world.leaseMs * world.random.between(5, 20)) / 10));
      } finally {
        worker.continue();
      }
    });
  },
};

/** The case for fencing tokens: other holders have changed the set when the paused one goes on and writes. */
export const stoppedWriter: Fault = {
  number: 10,
  title: 'a process stands still between reading a set and writing it back, until another one has changed it',
  async inject(world) {
    const found = await world.crew.untilAdding(ADDING_BOUND_MS);
    if (found === undefined) return;
    const { worker, lock, set } = found;
    await during(world, this, `SIGSTOP of worker ${worker.number}, adding to ${set} ${lock}`, async () => {
      worker.stop();
      try {
        await world.crew.untilAdded(worker, lock, set, 3 * world.leaseMs);
      } finally {
        worker.continue();
      }
    });
  },
};

export const killedWorker: Fault = {
  number: 11,
  title: 'a process is killed, whatever it holds and waits for',
  async inject(world) {
    const worker = drawVictim(world);
    await during(world, this, `kill -9 of worker ${worker.number}`, async () => {
      await worker.end('SIGKILL');
      await pause(world.random.between(0, world.leaseMs));
      await world.hire();
    });
  },
};

export const blockedWorker: Fault = {
  number: 12,
  title: 'the event loop of a process is blocked',
  async inject(world) {
    const worker = drawVictim(world);
    await during(world, this, `worker ${worker.number} is busy`, async () => {
      await worker.block(Math.round((world.leaseMs * world.random.between(5, 20)) / 10));
    });
  },
};

export const workerClock: Fault = {
  number: 14,
  title: 'the wall clock of a process jumps',
  missing: ({ workerClock: set }) => (set === undefined ? 'libfaketime is not installed' : undefined),
  async inject(world) {
    const offset = world.random.pick(['+1h', '-1h', '+30s', '-30s', '+0 x1.1']);
    await during(world, this, `clock ${offset}`, async () => {
      world.workerClock?.(offset);
      await last(world);
      world.workerClock?.('+0');
    });
  },
};

export const endedWorker: Fault = {
  number: 32,
  title: 'a process ends in the middle of its work',
  async inject(world) {
    const worker = drawVictim(world);
    const by = world.random.pick(['SIGTERM', 'crash']);
    await during(world, this, `${by} of worker ${worker.number}`, async () => {
      await worker.end(by);
      await world.hire();
    });
  },
};
