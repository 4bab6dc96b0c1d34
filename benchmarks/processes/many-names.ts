// A process that takes locks that nobody has used before, many at once, through one library or through the bare driver.
import { randomBytes } from 'node:crypto';
import { LOADS } from '../peers/libraries.js';
import type { LoadName } from '../peers/libraries.js';
import type { Contender } from '../peers/library.js';
import { processorMsBetween, threadTimesOf } from '../processor-time.js';
import type { ThreadTimes } from '../processor-time.js';
import type { Place } from './connections.js';
import { CycleMeter } from './cycle-meter.js';
import type { CrowdSpan } from './cycle-meter.js';

export interface Crowd extends CrowdSpan {
  /** The processes whose processor time counts as the server's. */
  readonly serverPids: readonly number[];
}

/** What a measured load did. A cycle is an acquire and a release of one lock. */
export interface Cycles {
  /** The cycles that ended while the load was measured. */
  readonly count: number;
  readonly ms: number;
  /** The time of each cycle that began while the load was measured. */
  readonly tookMs: readonly number[];
  /** The processor time of this process. */
  readonly clientMs: number;
  /** NaN if it is not known. */
  readonly serverMs: number;
}

/** The processor time that was used so far. */
interface Used {
  readonly client: NodeJS.CpuUsage;
  readonly server: ThreadTimes;
}

let own: Contender | undefined;

/** No two processes and no two runs use the same names. */
const prefix = `invoice:${randomBytes(6).toString('hex')}:`;
let named = 0;

export const newName = (): string => `${prefix}${(named += 1)}`;

export const manyNames = {
  async open(load: LoadName, place: Place): Promise<void> {
    own = await LOADS[load].connect(place);
  },

  /** So many callers take a new lock and release it, again and again. */
  async cycle({ serverPids, ...span }: Crowd): Promise<Cycles> {
    const locks = own;
    if (locks === undefined) throw new Error('open was not called');
    // A look at the threads of a server takes some ms of this process, which are no cost of the load.
    let [before, after]: [Used | undefined, Used | undefined] = [undefined, undefined];
    const onBegin = (): void => {
      const server = threadTimesOf(serverPids);
      before = { server, client: process.cpuUsage() };
    };
    const onEnd = (): void => {
      const client = process.cpuUsage();
      after = { client, server: threadTimesOf(serverPids) };
    };
    const meter = new CycleMeter(span, onBegin, onEnd);
    const caller = async (): Promise<void> => {
      while (!meter.isOver) {
        const begun = meter.started(performance.now());
        const release = await locks.acquire(newName());
        await release();
        meter.ended(begun, performance.now());
      }
    };
    await Promise.all(Array.from({ length: span.atOnce }, caller));
    const { count, ms, tookMs } = meter;
    return { count, ms, tookMs, ...processorMsOf(before, after) };
  },
};

function processorMsOf(before?: Used, after?: Used): Pick<Cycles, 'clientMs' | 'serverMs'> {
  if (before === undefined || after === undefined) throw new Error('the load ended before it was measured');
  const user = after.client.user - before.client.user;
  const system = after.client.system - before.client.system;
  return {
    clientMs: (user + system) / 1_000,
    serverMs: processorMsBetween(before.server, after.server),
  };
}
