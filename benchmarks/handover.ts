// What a hand-over between two processes costs, as a ratio to a bare write and its event, measured in turn.
import { Command } from 'commander';
import { memberCount, wholeNumber } from './arguments.js';
import { Ring } from './handover-ring.js';
import type { Contention } from './handover-ring.js';
import { describeRatio, ratioOf } from './ratio.js';
import { Report } from './report.js';
import { jainIndex, percentile } from './statistics.js';
import { Workbench } from './workbench.js';

const HOLD_MS = 5;

/**
 * Two processes that pass the lock to and fro, and eight that want it all the time. Of two, the releaser asks again only
 * when the hand-over is over: asking is another service, and on few processors it would be in the way.
 */
const SCENARIOS = [
  { processes: 2, thinkMs: 3, bound: 1.25 },
  { processes: 8, thinkMs: 5, bound: 1.6 },
] as const;

type Scenario = (typeof SCENARIOS)[number];

const { members, rounds, blockMs } = new Command('npm run bench:handover --')
  .description(
    'a hand-over of a mutex between processes, against a bare write and its event in another process',
  )
  .option('--members <n>', 'members of the replica set, 1 or 3', memberCount, 1)
  .option('--rounds <n>', 'rounds; each is a block of the floor and a block of the lock', wholeNumber, 9)
  .option('--block-ms <ms>', 'how long a block is measured', wholeNumber, 1_500)
  .parse()
  .opts<{ members: 1 | 3; rounds: number; blockMs: number }>();

await Workbench.with(members, async (bench) => {
  const report = new Report(`handover-${members}`, bench.server);
  const ring = await Ring.start(8, bench);
  try {
    for (const scenario of SCENARIOS) await measure(ring, scenario, report);
    await countWrites(ring, report);
  } finally {
    await ring.end();
  }
  await report.publish();
});

async function measure(ring: Ring, scenario: Scenario, report: Report): Promise<void> {
  const { processes, thinkMs, bound } = scenario;
  const pace = { processes, holdMs: HOLD_MS, thinkMs, blockMs };
  // Not measured: it shows how many streams are open, and every process has run both once.
  const floorStreams = (await ring.bounce({ ...pace, countsStreams: true })).streams;
  const lockStreams = (await ring.contend({ ...pace, countsStreams: true })).streams;
  const floors: (readonly number[])[] = [];
  const contentions: Contention[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floors.push((await ring.bounce(pace)).tookMs);
    contentions.push(await ring.contend(pace));
  }
  const title = `${processes} processes`;
  const handOversMs = contentions.map((contention) => contention.handOversMs);
  report.timing(`${title}: bare write → its event`, floors.flat());
  report.timing(`${title}: release → grant`, handOversMs.flat());
  report.timing(
    `${title}: wait`,
    contentions.flatMap(({ waitsMs }) => waitsMs),
  );
  const ratio = ratioOf(handOversMs.map((lockMs, round) => ({ lockMs, floorMs: floors[round] ?? [] })));
  report.note(`${title}: hand-over / floor`, describeRatio(ratio));
  report.note(`${title}: open streams, floor and lock`, `${floorStreams ?? '?'} and ${lockStreams ?? '?'}`);
  report.gate({
    name: `hand-over p50 / floor p50, ${title}`,
    measured: ratio.ofMedians,
    must: '≤',
    bound,
    isSteady: ratio.isSteady,
  });
  if (processes > 2) gateFairness(report, contentions);
}

function gateFairness(report: Report, contentions: readonly Contention[]): void {
  const waitsMs = contentions.flatMap((contention) => contention.waitsMs);
  const grants = contentions.map(({ grantsEach }) => grantsEach);
  const grantsEach = (grants[0] ?? []).map((_, index) =>
    grants.reduce((sum, each) => sum + (each[index] ?? 0), 0),
  );
  const spread = percentile(waitsMs, 0.99) / percentile(waitsMs, 0.5);
  report.gate({ name: 'wait p99 / wait p50, 8 processes', measured: spread, must: '≤', bound: 1.5 });
  report.gate({
    name: "Jain's index of the grants",
    measured: jainIndex(grantsEach),
    must: '≥',
    bound: 0.99,
  });
}

/** Slowly, and by connections of their own: listening to commands costs time. */
async function countWrites(ring: Ring, report: Report): Promise<void> {
  const pace = { processes: 2, holdMs: 30, thinkMs: 15, blockMs: 3_000, countsCommands: true };
  const { commands } = await ring.contend(pace);
  const { handOvers, writesBetween, perHandOver } = commands;
  report.note('commands per hand-over', perHandOver);
  report.note('hand-overs of which the commands were counted', handOvers);
  report.gate({ name: 'writes between release and grant', measured: writesBetween, must: '=', bound: 1 });
  report.gate({ name: 'polls per hand-over', measured: commands.polls, must: '=', bound: 0 });
}
