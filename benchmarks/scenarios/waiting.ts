// What a fleet of standbys costs that waits for one held lock for a long time, and how fast it is when the lock moves.
import { LockProvider } from '../../src/index.js';
import { BareWrite } from '../floor.js';
import type { Sent, StandbyDuties, Turn } from '../processes/standby-process.js';
import { RemoteProcess } from '../remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { distributionOf, median } from '../statistics.js';
import type { Workbench } from '../workbench.js';
import { monotonicMs, sleep } from '../worker-process.js';

const PROCESSES = 2;
const HOLD_MS = 5;
const LEASE_MS = 15_000;
const LOCK = 'held';

/** A hand-over that took longer came from somebody who did not listen. */
const SLOW_MS = 250;

/** The read of who does not listen comes once in a second; what it finds takes a hand-over's time besides. */
const LONGEST_MS = 1_100;

export const waiting = defineScenario({
  name: 'waiting',
  about:
    '128 providers, each with a client of its own, that wait for one held lock, against the same without',
  parts: [],
  sizes: [1, 3],
  settings: {
    providers: { meaning: 'how many wait', usual: 128 },
    thirds: { meaning: 'thirds of a lease for which commands are counted', usual: 1, thorough: 3 },
    quietS: {
      meaning: 'for how long nothing happens at most, until few streams are open',
      usual: 20,
      thorough: 60,
    },
    blockMs: { meaning: 'how long a block of writes is', usual: 2_000, thorough: 5_000 },
  },
  async run({ settings: { providers, quietS, thirds, blockMs }, report, open }) {
    await using bench = await open();
    await using fleet = await Fleet.gather(bench, providers);
    await using locks = new LockProvider(bench.client().db(bench.dbName), { leaseMs: LEASE_MS });
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    const held = await locks.acquireMutex(LOCK);
    const none = await costOf(bench, bare, fleet, blockMs);
    await fleet.wait(locks);
    const near = await costOf(bench, bare, fleet, blockMs);
    const quietSeconds = await untilFewListen(bench, quietS);
    // For a whole third of a lease, or by chance nobody would look in it.
    const far = await costOf(bench, bare, fleet, LEASE_MS / 3);
    // A little less than whole thirds: who looks once in each does so at most that often in this time.
    const resting = await costOf(bench, undefined, fleet, (thirds * LEASE_MS) / 3 - 500);
    const releasedMs = monotonicMs();
    await held.release();
    const turns = await fleet.turns();
    // Before and after: the speed of a shared machine drifts within the minute that lies between.
    await untilFewListen(bench, quietS);
    const after = await costOf(bench, bare, fleet, blockMs);
    describeCost(report, providers, { none, near, far, resting, after }, thirds);
    report.note('seconds until few streams were open', quietSeconds);
    describeMoves(report, turns, releasedMs);
  },
});

/** What a block has cost, in which somebody else writes, or nobody does. */
interface Cost {
  readonly streams: number;
  readonly serverMsPerWrite: number;
  readonly writeP50: number;
  readonly serverMsPerSecond: number;
  readonly seconds: number;
  readonly sent: Sent;
}

async function costOf(
  bench: Workbench,
  bare: BareWrite | undefined,
  fleet: Fleet,
  blockMs: number,
): Promise<Cost> {
  await fleet.sent();
  const tookMs: number[] = [];
  const startedMs = performance.now();
  const serverMs = await bench.load.during(async () => {
    if (bare === undefined) await sleep(blockMs);
    while (bare !== undefined && performance.now() - startedMs < blockMs) {
      const beforeMs = performance.now();
      await bare.run();
      tookMs.push(performance.now() - beforeMs);
    }
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  const sent = await fleet.sent();
  return {
    streams: (await bench.load.countStreams()) ?? NaN,
    serverMsPerWrite: bare === undefined ? NaN : serverMs / tookMs.length,
    writeP50: bare === undefined ? NaN : median(tookMs),
    serverMsPerSecond: serverMs / seconds,
    seconds,
    sent,
  };
}

/** Nothing happens until at most two streams are open, or the time is over; returns after how many seconds. */
async function untilFewListen(bench: Workbench, quietS: number): Promise<number> {
  for (let seconds = 0; seconds < quietS; seconds += 1) {
    if (((await bench.load.countStreams()) ?? 0) <= 2) return seconds;
    await sleep(1_000);
  }
  return quietS;
}

/** The providers that wait, in a few processes. */
class Fleet implements AsyncDisposable {
  readonly #processes: readonly RemoteProcess<StandbyDuties>[];
  readonly #size: number;

  private constructor(processes: readonly RemoteProcess<StandbyDuties>[], size: number) {
    this.#processes = processes;
    this.#size = size;
  }

  static async gather(bench: Workbench, size: number): Promise<Fleet> {
    const file = new URL('../processes/standby-process.ts', import.meta.url);
    const processes = Array.from({ length: PROCESSES }, () => new RemoteProcess<StandbyDuties>(file));
    const { uri, dbName } = bench;
    await Promise.all(
      processes.map((standby) => standby.ask('connect', uri, dbName, Math.ceil(size / PROCESSES), LEASE_MS)),
    );
    return new Fleet(processes, Math.ceil(size / PROCESSES) * PROCESSES);
  }

  async wait(locks: LockProvider): Promise<void> {
    await Promise.all(this.#processes.map((standby) => standby.ask('wait', LOCK, HOLD_MS)));
    while (((await locks.inspect(LOCK))?.waiters.length ?? 0) < this.#size) await sleep(50);
    // The looks after the opening of the streams.
    await sleep(500);
  }

  async sent(): Promise<Sent> {
    const each = await Promise.all(this.#processes.map((standby) => standby.ask('sent')));
    return {
      writes: each.reduce((sum, { writes }) => sum + writes, 0),
      reads: each.reduce((sum, { reads }) => sum + reads, 0),
    };
  }

  async turns(): Promise<readonly Turn[]> {
    const each = await Promise.all(this.#processes.map((standby) => standby.ask('turns')));
    return each.flat().sort((a, b) => a.token - b.token);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#processes.map((standby) => standby.ask('disconnect')));
    await Promise.all(this.#processes.map((standby) => standby.end()));
  }
}

interface Costs {
  readonly none: Cost;
  readonly near: Cost;
  readonly far: Cost;
  readonly resting: Cost;
  readonly after: Cost;
}

function describeCost(
  report: Report,
  providers: number,
  { none, near, far, resting, after }: Costs,
  thirds: number,
): void {
  const floorMs = (none.serverMsPerWrite + after.serverMsPerWrite) / 2;
  const row = (title: string, cost: Cost): (string | number)[] => [
    ...[title, cost.streams, cost.writeP50, cost.serverMsPerWrite],
    ...[cost.serverMsPerWrite / floorMs, cost.serverMsPerSecond],
    ...[cost.sent.writes / providers, cost.sent.reads / providers / cost.seconds],
  ];
  report.table(
    `${providers} providers, lease ${LEASE_MS / 1_000} s`,
    [
      ...[
        '',
        'open streams',
        'write p50, ms',
        'server CPU per write, ms',
        '/ nobody waits',
        'server CPU, ms/s',
      ],
      ...['writes per provider', 'reads per provider and second'],
    ],
    [
      row('nobody waits, somebody writes', none),
      row('they have begun to wait, somebody writes', near),
      row('they wait quietly, somebody writes', far),
      row('they wait quietly, nobody writes', resting),
      row('nobody waits any more, somebody writes', after),
    ],
  );
  report.gate({
    name: `open streams, ${providers} wait quietly`,
    measured: far.streams,
    must: '≤',
    bound: 2,
  });
  if (Number.isNaN(floorMs)) {
    report.note('server CPU', 'not known: the server was not started here');
  } else {
    report.gate({
      name: `server CPU per unrelated write, ${providers} wait quietly / nobody waits`,
      measured: far.serverMsPerWrite / floorMs,
      must: '≤',
      bound: 1.5,
    });
  }
  report.gate({
    name: 'writes per waiting provider and third of a lease',
    measured: resting.sent.writes / providers / thirds,
    must: '≤',
    bound: 1,
  });
  report.gate({ name: 'reads while near', measured: near.sent.reads, must: '=', bound: 0 });
  report.gate({
    name: 'reads per waiting provider and second while far',
    // By the seconds that had begun, for the same reason.
    measured: resting.sent.reads / providers / Math.ceil(resting.seconds),
    must: '≤',
    bound: 1,
  });
}

/** The lock goes through all of them, after a long rest. */
function describeMoves(report: Report, turns: readonly Turn[], releasedMs: number): void {
  const tookMs = turns.map(
    ({ grantedMs }, index) => grantedMs - (turns[index - 1]?.releasedMs ?? releasedMs),
  );
  report.timing('hand-overs, all who waited', tookMs);
  report.note(
    `hand-overs over ${SLOW_MS} ms, in ms`,
    tookMs
      .filter((ms) => ms > SLOW_MS)
      .map((ms) => ms.toFixed(0))
      .join(', ') || 'none',
  );
  report.gate({
    name: `hand-overs over ${SLOW_MS} ms when the lock moves again`,
    measured: tookMs.filter((ms) => ms > SLOW_MS).length,
    must: '≤',
    bound: 1,
  });
  report.gate({
    name: 'the longest hand-over when the lock moves again, ms',
    measured: distributionOf(tookMs).max,
    must: '≤',
    bound: LONGEST_MS,
  });
}
