// The cost of processes that keep a lock which no caller uses, for others on the server and for a process that wants it.
import { processorMsBetween, threadTimesOf } from '../processor-time.js';
import { sleep, timesFor } from '../measure.js';
import type { Hearing } from '../processes/idle-keepers.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { RemoteProcess } from '../processes/remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median, percentile } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

/** Each process has half of the keepers, each of them with a client of its own. */
const PROCESSES = 2;

const MOST = 64;

const BARE: Readonly<Record<'stream' | 'tail' | 'poll', string>> = {
  stream: 'bare: a change stream each',
  tail: 'bare: a tailable cursor each',
  poll: 'bare: one read a second each',
};

interface Way {
  readonly how: Hearing;
  readonly keepers: number;
  readonly name: string;
}

const WAYS: readonly Way[] = [
  ...[8, MOST].flatMap((keepers) =>
    (['stream', 'tail', 'poll'] as const).map((how) => ({ how, keepers, name: BARE[how] })),
  ),
  { how: 'near', keepers: MOST, name: 'leasehold: used lately' },
  { how: 'far', keepers: MOST, name: 'leasehold: not used lately' },
];

/** Whole seconds, because many keepers send something once a second. */
const REST_MS = 1_000;

/** The cursors of the block before have been closed, and new ones opened. */
const SETTLED_MS = 300;

/** Keepers that hear at once are asked one at a time; the others are asked at once, because that takes a second. */
const AT_ONCE = 8;
const PAUSE_MS = 40;

const COST_BOUND = 1.5;
const WAIT_BOUND_MS = 1_100;

/** What the blocks of one way have shown, in ms. */
class Cost {
  readonly serverPerWrite: number[] = [];
  readonly write: number[] = [];
  readonly serverAtRest: number[] = [];
  readonly asked: number[] = [];
  readonly hint: number[] = [];
  streams = 0;
}

export const keepers = defineScenario({
  name: 'keepers',
  about: 'up to 64 keepers whose seats no caller uses: unrelated writes, and a request of another process',
  sizes: [1, 3],
  settings: {
    rounds: { meaning: 'rounds; each has a block of every way to hear', usual: 2, thorough: 8 },
    blockMs: { meaning: 'how long a block of unrelated writes is', usual: 1_000 },
    requests: { meaning: 'requests of another process in a block', usual: 16 },
  },
  async run({ settings: { rounds, blockMs, requests }, report, bench }) {
    await using team = await RemoteTeam.start(PROCESSES + 1, bench.place);
    const [contender, ...keeping] = team.members;
    if (contender === undefined) return;
    await contender.ask('connectKeepers', 0);
    for (const member of keeping) await member.ask('connectKeepers', MOST / PROCESSES);
    const write = await bench.bareWrite();
    await timesFor(blockMs, write);
    const none = new Cost();
    const costs = new Map(WAYS.map((way) => [way, new Cost()]));
    for (let round = 0; round < rounds; round += 1) {
      await measureWrites(bench, write, blockMs, none);
      for (const [{ how, keepers: count }, cost] of costs) {
        const each = count / PROCESSES;
        await Promise.all(keeping.map((member, index) => member.ask('keepIdle', how, index * each, each)));
        while (how === 'far' && (await bench.countStreams()) > 0) await sleep(100);
        await measureWrites(bench, write, blockMs, cost);
        cost.streams = await bench.countStreams();
        await measureRequests(contender, how, { count, requests }, cost);
        await Promise.all(keeping.map((member) => member.ask('keepNoMore')));
      }
    }
    tell(report, none, costs);
  },
});

/** The server at rest, and then under unrelated writes. */
async function measureWrites(
  bench: Workbench,
  write: () => Promise<unknown>,
  blockMs: number,
  cost: Cost,
): Promise<void> {
  await sleep(SETTLED_MS);
  const begun = threadTimesOf(bench.serverPids);
  await sleep(REST_MS);
  const rested = threadTimesOf(bench.serverPids);
  const tookMs = await timesFor(blockMs, write);
  const serverMs = processorMsBetween(rested, threadTimesOf(bench.serverPids));
  cost.serverAtRest.push((1_000 * processorMsBetween(begun, rested)) / REST_MS);
  cost.serverPerWrite.push(serverMs / tookMs.length);
  cost.write.push(...tookMs);
}

/** The requests of a process that wants the locks of idle keepers. No keeper of the library is asked twice. */
async function measureRequests(
  contender: RemoteProcess,
  how: Hearing,
  { count, requests }: { readonly count: number; readonly requests: number },
  cost: Cost,
): Promise<void> {
  const isLate = how === 'poll' || how === 'far';
  const atOnce = isLate ? AT_ONCE : 1;
  const { tookMs, hintMs } = await contender.ask('askKeepers', how, {
    ...{ keepers: count, turns: Math.ceil(requests / atOnce), atOnce, restMs: isLate ? 1_000 : PAUSE_MS },
  });
  cost.asked.push(...tookMs);
  cost.hint.push(...hintMs);
}

function tell(report: Report, none: Cost, costs: ReadonlyMap<Way, Cost>): void {
  const all = [
    ['no keeper', none] as const,
    ...[...costs].map(([way, cost]) => [titleOf(way), cost] as const),
  ];
  const floorMs = median(none.serverPerWrite);
  report.table(
    'Unrelated writes, and the server at rest',
    [
      '',
      'open streams',
      'write p50, ms',
      'server CPU per write, ms',
      '/ no keeper',
      'server CPU at rest, ms/s',
    ],
    all.map(([name, { streams, write, serverPerWrite, serverAtRest }]) => [
      ...[name, streams, median(write), median(serverPerWrite), median(serverPerWrite) / floorMs],
      median(serverAtRest),
    ]),
  );
  report.table(
    'Request of another process → its grant, ms',
    ['', 'count', 'p10', 'p50', 'p90', 'p99', 'hint p50', 'hint p99'],
    all
      .slice(1)
      .map(([name, { asked, hint }]) => [
        ...[name, asked.length],
        ...[0.1, 0.5, 0.9, 0.99].map((share) => percentile(asked, share)),
        ...[0.5, 0.99].map((share) => percentile(hint, share)),
      ]),
  );
  const far = [...costs].find(([{ how }]) => how === 'far')?.[1] ?? none;
  report.gate(`open streams, ${MOST} keepers not used lately`, far.streams, '=', 0);
  const ratios = far.serverPerWrite.map((ms, round) => ms / (none.serverPerWrite[round] ?? NaN));
  const gate = `server CPU per unrelated write, ${MOST} keepers not used lately / no keeper`;
  if (Number.isFinite(floorMs)) report.blockRatios(gate, ratios, '≤', COST_BOUND);
  else report.note('server CPU', 'unknown, because the server was not started here');
  report.gate(
    'request → grant behind a keeper not used lately, p99, ms',
    percentile(far.asked, 0.99),
    '≤',
    WAIT_BOUND_MS,
  );
}

const titleOf = ({ keepers: count, name }: Way): string => `${count} keepers, ${name}`;
