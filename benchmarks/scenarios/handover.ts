// What a hand-over between two processes costs, as a ratio to a bare write and its event, measured in turn.
import { Ring } from '../processes/ring.js';
import type { Contention } from '../processes/ring.js';
import { describeRatio, ratioOf } from '../ratio.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { jainIndex, percentile } from '../statistics.js';

const HOLD_MS = 5;

interface Party {
  readonly processes: number;
  readonly thinkMs: number;
  readonly bound: number;
}

/**
 * Two processes that pass the lock to and fro, and eight that want it all the time. Of two, the releaser asks again only
 * when the hand-over is over: asking is another service, and on few processors it would be in the way.
 */
const PARTIES: Readonly<Record<string, Party>> = {
  two: { processes: 2, thinkMs: 3, bound: 1.25 },
  eight: { processes: 8, thinkMs: 5, bound: 1.6 },
};

export const handover = defineScenario({
  name: 'handover',
  about: 'a hand-over of a mutex between processes, against a bare write and its event in another process',
  parts: Object.keys(PARTIES),
  sizes: [1, 3],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of the lock', usual: 6, thorough: 9 },
    blockMs: { meaning: 'how long a block is measured', usual: 1_000, thorough: 1_500 },
  },
  async run({ settings: { rounds, blockMs }, report, wants, open }) {
    await using bench = await open();
    await using ring = await Ring.start(8, bench);
    for (const [name, party] of Object.entries(PARTIES)) {
      if (wants(name)) await measure(ring, party, rounds, blockMs, report);
    }
    await countWrites(ring, report);
  },
});

async function measure(
  ring: Ring,
  { processes, thinkMs, bound }: Party,
  rounds: number,
  blockMs: number,
  report: Report,
): Promise<void> {
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
  if (processes > 2) judgeFairness(report, contentions);
}

function judgeFairness(report: Report, contentions: readonly Contention[]): void {
  const waitsMs = contentions.flatMap((contention) => contention.waitsMs);
  const grants = contentions.map(({ grantsEach }) => grantsEach);
  const grantsEach = (grants[0] ?? []).map((_, index) =>
    grants.reduce((sum, each) => sum + (each[index] ?? 0), 0),
  );
  const spread = percentile(waitsMs, 0.99) / percentile(waitsMs, 0.5);
  report.gate({ name: 'wait p99 / wait p50, 8 processes', measured: spread, must: '≤', bound: 1.5 });
  report.gate({
    name: "Jain's index of the grants, 8 processes",
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
  report.gate({ name: 'polls during all hand-overs', measured: commands.polls, must: '=', bound: 0 });
}
