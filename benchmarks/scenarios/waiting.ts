// The cost of a fleet of standbys that wait for one held lock for a long time, and their speed when the lock moves.
import { LockProvider } from '../../src/index.js';
import type { Cell } from '../findings.js';
import { BareWrite } from '../floor.js';
import { monotonicMs, sleep, timesFor } from '../measure.js';
import type { Sent, StandbyDuties, Turn } from '../processes/standby-process.js';
import { RemoteTeam } from '../remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { distributionOf, median } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

const PROCESSES = 2;
const HOLD_MS = 5;
const LEASE_MS = 15_000;
const LOCK = 'held';

/** A slower hand-over came from a provider without a stream. */
const SLOW_MS = 250;

/** A provider without a stream reads once per second; after the read, the hand-over itself takes some time. */
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
    quietS: { meaning: 'longest quiet time, until few streams are open', usual: 20, thorough: 60 },
    blockMs: { meaning: 'how long a block of writes is', usual: 2_000, thorough: 5_000 },
  },
  async run({ settings: { providers: wanted, quietS, thirds, blockMs }, report, open }) {
    const providers = Math.ceil(wanted / PROCESSES) * PROCESSES;
    await using bench = await open();
    await using fleet = await gather(bench, providers);
    await using locks = new LockProvider(bench.client().db(bench.dbName), { leaseMs: LEASE_MS });
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    const held = await locks.acquireMutex(LOCK);
    const none = await costOf(bench, bare, fleet, blockMs);
    await fleet.askAll('wait', [LOCK, HOLD_MS]);
    while (((await locks.inspect(LOCK))?.waiters.length ?? 0) < providers) await sleep(50);
    // After its stream has opened, every provider looks at the lock once more.
    await sleep(500);
    const near = await costOf(bench, bare, fleet, blockMs);
    const quietSeconds = await untilFewListen(bench, quietS);
    // A whole third of a lease: a shorter block could miss all the looks.
    const far = await costOf(bench, bare, fleet, LEASE_MS / 3);
    // A little less than whole thirds, so that one look per third makes at most this many looks.
    const resting = await costOf(bench, undefined, fleet, (thirds * LEASE_MS) / 3 - 500);
    const releasedMs = monotonicMs();
    await held.release();
    const turns = (await fleet.askAll('turns', [])).flat().sort((a, b) => a.token - b.token);
    // The floor is measured before and after, because a shared machine drifts within the minute in between.
    await untilFewListen(bench, quietS);
    const after = await costOf(bench, bare, fleet, blockMs);
    describeCost(report, providers, { none, near, far, resting, after }, thirds);
    report.note('seconds until few streams were open', quietSeconds);
    describeMoves(report, turns, releasedMs);
  },
});

type Fleet = RemoteTeam<StandbyDuties>;

async function gather(bench: Workbench, providers: number): Promise<Fleet> {
  const fleet: Fleet = new RemoteTeam(PROCESSES, new URL('../processes/standby-process.ts', import.meta.url));
  await fleet.askAll('connect', [bench.uri, bench.dbName, providers / PROCESSES, LEASE_MS]);
  return fleet;
}

/** The cost of a block, with unrelated writes or without. */
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
  await fleet.askAll('sent', []);
  let tookMs: readonly number[] = [];
  const startedMs = performance.now();
  const serverMs = await bench.serverMsDuring(async () => {
    if (bare === undefined) await sleep(blockMs);
    else tookMs = await timesFor(blockMs, () => bare.run());
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  const sent = await fleet.askAll('sent', []);
  return {
    streams: (await bench.countStreams()) ?? NaN,
    serverMsPerWrite: bare === undefined ? NaN : serverMs / tookMs.length,
    writeP50: median(tookMs),
    serverMsPerSecond: serverMs / seconds,
    seconds,
    sent: {
      writes: sent.reduce((sum, { writes }) => sum + writes, 0),
      reads: sent.reduce((sum, { reads }) => sum + reads, 0),
    },
  };
}

/** Waits until at most two streams are open, or the time is over; returns the seconds. */
async function untilFewListen(bench: Workbench, quietS: number): Promise<number> {
  for (let seconds = 0; seconds < quietS; seconds += 1) {
    if (((await bench.countStreams()) ?? 0) <= 2) return seconds;
    await sleep(1_000);
  }
  return quietS;
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
  const row = (title: string, cost: Cost): Cell[] => [
    ...[title, cost.streams, cost.writeP50, cost.serverMsPerWrite],
    ...[cost.serverMsPerWrite / floorMs, cost.serverMsPerSecond],
    ...[cost.sent.writes / providers, cost.sent.reads / providers / cost.seconds],
  ];
  report.table(
    `${providers} providers, lease ${LEASE_MS / 1_000} s`,
    [
      ...['', 'open streams', 'write p50, ms', 'server CPU per write, ms', '/ no provider waits'],
      ...['server CPU, ms/s', 'writes per provider', 'reads per provider and second'],
    ],
    [
      row('no provider waits, unrelated writes', none),
      row('they have begun to wait, unrelated writes', near),
      row('they wait quietly, unrelated writes', far),
      row('they wait quietly, no writes', resting),
      row('no provider waits any more, unrelated writes', after),
    ],
  );
  report.atMost(`open streams, ${providers} wait quietly`, far.streams, 2);
  if (Number.isNaN(floorMs)) {
    report.note('server CPU', 'unknown, because the server was not started here');
  } else {
    const name = `server CPU per unrelated write, ${providers} wait quietly / nobody waits`;
    report.atMost(name, far.serverMsPerWrite / floorMs, 1.5);
  }
  const writes = resting.sent.writes / providers / thirds;
  report.atMost('writes per waiting provider and third of a lease', writes, 1);
  report.exactly('reads while near', near.sent.reads, 0);
  // Divided by the seconds that have begun: one read per second makes at most this many reads.
  const reads = resting.sent.reads / providers / Math.ceil(resting.seconds);
  report.atMost('reads per waiting provider and second while far', reads, 1);
}

/** After the long rest, the lock goes through all providers. */
function describeMoves(report: Report, turns: readonly Turn[], releasedMs: number): void {
  const tookMs = turns.map(
    ({ grantedMs }, index) => grantedMs - (turns[index - 1]?.releasedMs ?? releasedMs),
  );
  const slow = tookMs.filter((ms) => ms > SLOW_MS);
  report.timing('hand-overs to all waiters', tookMs);
  report.note(`hand-overs over ${SLOW_MS} ms, in ms`, slow.map((ms) => ms.toFixed(0)).join(', ') || 'none');
  report.atMost(`hand-overs over ${SLOW_MS} ms when the lock moves again`, slow.length, 1);
  const { max } = distributionOf(tookMs);
  report.atMost('the longest hand-over when the lock moves again, ms', max, LONGEST_MS);
}
