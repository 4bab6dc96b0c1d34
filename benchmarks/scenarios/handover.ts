// The cost of a hand-over between two processes, as a ratio to a bare write and its event, measured in turn.
import { Ring } from '../processes/ring.js';
import type { Contention } from '../processes/ring.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { inTurn } from '../measure.js';
import { jainIndex, percentile } from '../../lab/statistics.js';

const HOLD_MS = 5;

interface Party {
  readonly processes: number;
  readonly thinkMs: number;
  readonly bound: number;
}

/**
 * Two processes that pass the lock to and fro, and eight that want it all the time. Of two processes, the releaser asks
 * again only when the hand-over is over: a request is another service, and on few processors it would be in the way.
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
  // These blocks are not measured: every process runs both once.
  await ring.bounce(pace);
  await ring.contend(pace);
  const contentions: Contention[] = [];
  const blocks = await inTurn(rounds, {
    floorMs: () => ring.bounce(pace),
    lockMs: async () => {
      const contention = await ring.contend(pace);
      contentions.push(contention);
      return contention.handOversMs;
    },
  });
  const title = `${processes} processes`;
  const names = {
    floor: `${title}: bare write → its event`,
    lock: `${title}: release → grant`,
    note: `${title}: hand-over / floor`,
    gate: `hand-over p50 / floor p50, ${title}`,
  };
  report.ratio(names, blocks, bound);
  const waitsMs = contentions.flatMap((contention) => contention.waitsMs);
  report.timing(`${title}: wait`, waitsMs);
  if (processes === 2) return;
  const grantsEach = Array.from({ length: processes }, (_, index) =>
    contentions.reduce((sum, contention) => sum + (contention.grantsEach[index] ?? 0), 0),
  );
  const spread = percentile(waitsMs, 0.99) / percentile(waitsMs, 0.5);
  report.atMost('wait p99 / wait p50, 8 processes', spread, 1.5);
  report.atLeast("Jain's index of the grants, 8 processes", jainIndex(grantsEach), 0.99);
}

/** Counts slowly and on connections of its own, because monitoring commands costs time. */
async function countWrites(ring: Ring, report: Report): Promise<void> {
  const pace = { processes: 2, holdMs: 30, thinkMs: 15, blockMs: 3_000, countsCommands: true };
  const { handOvers, writesBetween, perHandOver, polls } = (await ring.contend(pace)).commands;
  report.note('commands per hand-over', perHandOver);
  report.note('hand-overs of which the commands were counted', handOvers);
  report.exactly('writes between release and grant', writesBetween, 1);
  report.exactly('polls during all hand-overs', polls, 0);
}
