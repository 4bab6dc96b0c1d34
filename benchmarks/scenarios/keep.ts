// What a seat that is kept saves whoever takes it again, and costs whoever waits for it elsewhere.
import { built } from '../built.js';
import type { Again, KeepDuties } from '../processes/keep-process.js';
import { Ring } from '../processes/ring.js';
import { describeRatio, ratioOf } from '../ratio.js';
import { RemoteProcess } from '../remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { distributionOf } from '../statistics.js';
import type { Workbench } from '../workbench.js';

/** Longer than any pause of this scenario: whoever keeps its seat is idle, and has not let go by itself. */
const KEEP_MS = 60_000;

const PACE = { processes: 2, holdMs: 5, thinkMs: 3 } as const;

const LOCAL_BOUND_US = 20;

/** A hand-over is one write and its event; behind a keeper, the request and its event come before that. */
const REMOTE_BOUND = 2;

export const keep = defineScenario({
  name: 'keep',
  about: 'a mutex whose seat is kept: taken again by its process, and by another one behind an idle keeper',
  parts: ['local', 'remote'],
  sizes: [1, 3],
  settings: {
    grants: { meaning: 'grants; of each, 200 local holds are measured', usual: 25, thorough: 60 },
    rounds: { meaning: 'rounds; each has a block of hand-overs and one of requests', usual: 4, thorough: 9 },
    requests: { meaning: 'requests behind an idle keeper in a block', usual: 30, thorough: 60 },
  },
  async run({ settings: { grants, rounds, requests }, report, wants, open }) {
    await using bench = await open();
    if (wants('local')) await measureLocal(bench, grants, report);
    if (wants('remote')) await measureRemote(bench, rounds, requests, report);
  },
});

async function measureLocal(bench: Workbench, grants: number, report: Report): Promise<void> {
  const file = new URL('../processes/keep-process.ts', import.meta.url);
  await using keeper = new RemoteProcess<KeepDuties>(await built(file), []);
  await keeper.ask('connect', bench.uri);
  // Not measured: it compiles the code.
  await keeper.ask('takeAgain', bench.dbName, KEEP_MS);
  const found: Again[] = [];
  for (let grant = 0; grant < grants; grant += 1) {
    found.push(await keeper.ask('takeAgain', bench.dbName, KEEP_MS));
  }
  await keeper.ask('disconnect');
  const tookUs = found.flatMap((again) => again.tookUs);
  const commands = found.flatMap((again) => again.commands);
  const { p10, p50, p90, p99, max } = distributionOf(tookUs);
  report.table(
    'A seat that is kept, taken and given back again; µs',
    ['', 'count', 'p10', 'p50', 'p90', 'p99', 'max', 'commands of all'],
    [['acquire + release', tookUs.length, p10, p50, p90, p99, max, commands.length]],
  );
  if (commands.length > 0) report.note('commands', [...new Set(commands)].join(', '));
  report.gate({
    name: 'acquire + release of a kept mutex, p50 in µs',
    measured: p50,
    must: '≤',
    bound: LOCAL_BOUND_US,
  });
  report.gate({
    name: 'commands while a kept mutex is taken again',
    measured: commands.length,
    must: '=',
    bound: 0,
  });
}

async function measureRemote(
  bench: Workbench,
  rounds: number,
  requests: number,
  report: Report,
): Promise<void> {
  await using ring = await Ring.start(2, bench);
  const ordinary: (readonly number[])[] = [];
  const behind: (readonly number[])[] = [];
  // Not measured: every process has done both once.
  await ring.contend({ ...PACE, blockMs: 500 });
  await ring.takeKept(10, KEEP_MS);
  for (let round = 0; round < rounds; round += 1) {
    ordinary.push((await ring.contend({ ...PACE, blockMs: 1_000 })).handOversMs);
    behind.push(await ring.takeKept(requests, KEEP_MS));
  }
  report.timing('release → grant, ordinary', ordinary.flat());
  report.timing('request → grant behind an idle keeper', behind.flat());
  const ratio = ratioOf(behind.map((lockMs, round) => ({ lockMs, floorMs: ordinary[round] ?? [] })));
  report.note('behind an idle keeper / ordinary', describeRatio(ratio));
  report.gate({
    name: 'request → grant behind an idle keeper p50 / hand-over p50',
    measured: ratio.ofMedians,
    must: '≤',
    bound: REMOTE_BOUND,
    isSteady: ratio.isSteady,
  });
}
