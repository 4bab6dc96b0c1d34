// A kept seat: the saving of the process that keeps it, and the cost of a request from another process.
import { built } from '../built.js';
import { inTurn } from '../measure.js';
import type { Again, KeepDuties } from '../processes/keep-process.js';
import { Ring } from '../processes/ring.js';
import { RemoteProcess } from '../remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { distributionOf } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

/** Longer than any pause of this scenario, so an idle keeper never gives up its seat by itself. */
const KEEP_MS = 60_000;

const PACE = { processes: 2, holdMs: 5, thinkMs: 3 } as const;

const LOCAL_BOUND_US = 20;

/** A hand-over is one write and its event; behind a keeper, the request and its event come first. */
const REMOTE_BOUND = 2;

export const keep = defineScenario({
  name: 'keep',
  about: 'a kept mutex: acquired again by its process, and by another process behind an idle keeper',
  parts: ['local', 'remote'],
  sizes: [1, 3],
  settings: {
    grants: { meaning: 'grants; 200 local holds of each are measured', usual: 25, thorough: 60 },
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
  // This grant is not measured: it compiles the code.
  await keeper.ask('takeAgain', bench.dbName, KEEP_MS);
  const found: Again[] = [];
  for (let grant = 0; grant < grants; grant += 1) {
    found.push(await keeper.ask('takeAgain', bench.dbName, KEEP_MS));
  }
  const commands = found.flatMap((again) => again.commands);
  const { count, p10, p50, p90, p99, max } = distributionOf(found.flatMap((again) => again.tookUs));
  report.table(
    'A kept seat, acquired and released again; µs',
    ['', 'count', 'p10', 'p50', 'p90', 'p99', 'max', 'commands of all'],
    [['acquire + release', count, p10, p50, p90, p99, max, commands.length]],
  );
  if (commands.length > 0) report.note('commands', [...new Set(commands)].join(', '));
  report.atMost('acquire + release of a kept mutex, p50 in µs', p50, LOCAL_BOUND_US);
  report.exactly('commands while a kept mutex is taken again', commands.length, 0);
}

async function measureRemote(
  bench: Workbench,
  rounds: number,
  requests: number,
  report: Report,
): Promise<void> {
  await using ring = await Ring.start(2, bench);
  // These blocks are not measured: every process runs both once.
  await ring.contend({ ...PACE, blockMs: 500 });
  await ring.takeKept(10, KEEP_MS);
  const blocks = await inTurn(rounds, {
    floorMs: async () => (await ring.contend({ ...PACE, blockMs: 1_000 })).handOversMs,
    lockMs: () => ring.takeKept(requests, KEEP_MS),
  });
  const names = {
    floor: 'release → grant, ordinary',
    lock: 'request → grant behind an idle keeper',
    note: 'behind an idle keeper / ordinary',
    gate: 'request → grant behind an idle keeper p50 / hand-over p50',
  };
  report.ratio(names, blocks, REMOTE_BOUND);
}
