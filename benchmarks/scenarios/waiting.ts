// The cost of a fleet of standbys that wait for one held lock for a long time, and their speed when the lock moves.
import { monotonicMs, sleep, timesFor } from '../measure.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { Turn } from '../processes/standbys.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median, percentile, sum } from '../../lab/statistics.js';
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
  about: '128 providers, each with a client of its own, that wait for one held lock, against none that wait',
  sizes: [1, 3],
  settings: {
    providers: { meaning: 'how many wait', usual: 128 },
    thirds: { meaning: 'thirds of a lease for which commands are counted', usual: 1, thorough: 3 },
    quietS: { meaning: 'longest quiet time, until few streams are open', usual: 20, thorough: 60 },
    blockMs: { meaning: 'how long a block of writes is', usual: 2_000, thorough: 5_000 },
  },
  async run({ settings: { providers: wanted, quietS, thirds, blockMs }, report, bench }) {
    await using fleet = await RemoteTeam.start(PROCESSES, bench.place);
    const each = Math.ceil(wanted / PROCESSES);
    const providers = each * PROCESSES;
    await fleet.askAll('gather', [each, LEASE_MS]);
    await using locks = bench.provider({ leaseMs: LEASE_MS });
    const write = await bench.bareWrite();
    const held = await locks.acquireMutex(LOCK);
    const none = await costOf(bench, fleet, blockMs, write);
    await fleet.askAll('wait', [LOCK, HOLD_MS]);
    while (((await locks.inspect(LOCK))?.waiters.length ?? 0) < providers) await sleep(50);
    // After its stream has opened, every provider looks at the lock once more.
    await sleep(500);
    const near = await costOf(bench, fleet, blockMs, write);
    report.note('seconds until few streams were open', await untilFewListen(bench, quietS));
    // A whole third of a lease: a shorter block could miss all the looks.
    const far = await costOf(bench, fleet, LEASE_MS / 3, write);
    // A little less than whole thirds, so that one look per third makes at most this many looks.
    const resting = await costOf(bench, fleet, (thirds * LEASE_MS) / 3 - 500);
    const releasedMs = monotonicMs();
    await held.release();
    const turns = (await fleet.askAll('turns', [])).flat();
    // The floor is measured before and after, because a shared machine drifts within the minute in between.
    await untilFewListen(bench, quietS);
    const after = await costOf(bench, fleet, blockMs, write);

    const floorMs = (none.serverMsPerWrite + after.serverMsPerWrite) / 2;
    const costs = {
      'no provider waits, unrelated writes': none,
      'they have begun to wait, unrelated writes': near,
      'they wait quietly, unrelated writes': far,
      'they wait quietly, no writes': resting,
      'no provider waits any more, unrelated writes': after,
    };
    report.table(
      `${providers} providers, lease ${LEASE_MS / 1_000} s`,
      [
        ...['', 'open streams', 'write p50, ms', 'server CPU per write, ms', '/ no provider waits'],
        ...['server CPU, ms/s', 'writes per provider', 'reads per provider and second'],
      ],
      Object.entries(costs).map(([name, cost]) => [
        ...[name, cost.streams, cost.writeP50, cost.serverMsPerWrite, cost.serverMsPerWrite / floorMs],
        ...[cost.serverMsPerSecond, cost.writes / providers, cost.reads / providers / cost.seconds],
      ]),
    );
    report.gate(`open streams, ${providers} wait quietly`, far.streams, '≤', 2);
    const name = `server CPU per unrelated write, ${providers} wait quietly / nobody waits`;
    if (Number.isFinite(floorMs)) report.gate(name, far.serverMsPerWrite / floorMs, '≤', 1.5);
    else report.note('server CPU', 'unknown, because the server was not started here');
    const writes = resting.writes / providers / thirds;
    report.gate('writes per waiting provider and third of a lease', writes, '≤', 1);
    report.gate('reads while near', near.reads, '=', 0);
    // Divided by the seconds that have begun: one read per second makes at most this many reads.
    const reads = resting.reads / providers / Math.ceil(resting.seconds);
    report.gate('reads per waiting provider and second while far', reads, '≤', 1);
    judgeMoves(report, turns, releasedMs);
  },
});

/** The cost of a block, with unrelated writes or without. */
async function costOf(bench: Workbench, fleet: RemoteTeam, blockMs: number, write?: () => Promise<unknown>) {
  await fleet.askAll('sent', []);
  const [startedMs, serverMsBefore] = [performance.now(), bench.serverMs()];
  const tookMs = write === undefined ? [] : await timesFor(blockMs, write);
  if (write === undefined) await sleep(blockMs);
  const serverMs = bench.serverMs() - serverMsBefore;
  const seconds = (performance.now() - startedMs) / 1_000;
  const sent = await fleet.askAll('sent', []);
  return {
    streams: await bench.countStreams(),
    serverMsPerWrite: tookMs.length === 0 ? NaN : serverMs / tookMs.length,
    writeP50: median(tookMs),
    serverMsPerSecond: serverMs / seconds,
    seconds,
    writes: sum(sent.map(({ writes }) => writes)),
    reads: sum(sent.map(({ reads }) => reads)),
  };
}

/** Waits until at most two streams are open, or the time is over; returns the seconds. */
async function untilFewListen(bench: Workbench, quietS: number): Promise<number> {
  for (let seconds = 0; seconds < quietS; seconds += 1) {
    if ((await bench.countStreams()) <= 2) return seconds;
    await sleep(1_000);
  }
  return quietS;
}

/** After the long rest, the lock goes through all providers. */
function judgeMoves(report: Report, turns: readonly Turn[], releasedMs: number): void {
  const inOrder = turns.toSorted((a, b) => a.token - b.token);
  const tookMs = inOrder.map(
    ({ grantedMs }, index) => grantedMs - (inOrder[index - 1]?.releasedMs ?? releasedMs),
  );
  const slow = tookMs.filter((ms) => ms > SLOW_MS);
  report.timing('hand-overs to all waiters', tookMs);
  report.note(`hand-overs over ${SLOW_MS} ms, in ms`, slow.map((ms) => ms.toFixed(0)).join(', ') || 'none');
  report.gate(`hand-overs over ${SLOW_MS} ms when the lock moves again`, slow.length, '≤', 1);
  report.gate('the longest hand-over when the lock moves again, ms', percentile(tookMs, 1), '≤', LONGEST_MS);
}
