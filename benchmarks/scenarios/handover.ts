// The cost of a hand-over between processes, as a ratio to a bare write and its event, measured in turn.
import { bounce, contest } from '../processes/contest.js';
import type { Contest, ContestPace } from '../processes/contest.js';
import { writesPerHandOver } from '../processes/holds.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { jainIndex, percentile, sum } from '../../lab/statistics.js';

/**
 * Two processes that pass the lock to and fro, and eight that want it all the time. With two processes, the releaser
 * asks again only when the hand-over is over: a request is another service, and on few processors it would be in the way.
 */
const PARTIES: Readonly<Record<string, Omit<ContestPace, 'blockMs'> & { readonly bound: number }>> = {
  two: { processes: 2, holdMs: 5, thinkMs: 3, bound: 1.25 },
  eight: { processes: 8, holdMs: 5, thinkMs: 5, bound: 1.6 },
};

const READS: ReadonlySet<string> = new Set(['find', 'aggregate']);

export const handover = defineScenario({
  name: 'handover',
  about: 'a hand-over of a mutex between processes, against a bare write and its event in another process',
  parts: Object.keys(PARTIES),
  sizes: [1, 3],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of the lock', usual: 6, thorough: 9 },
    blockMs: { meaning: 'how long a block is measured', usual: 1_000, thorough: 1_500 },
  },
  async run({ settings: { rounds, blockMs }, report, wants, bench }) {
    await using team = await RemoteTeam.start(8, bench.place);
    for (const [name, party] of Object.entries(PARTIES)) {
      if (!wants(name)) continue;
      const pace = { ...party, blockMs };
      const title = `${party.processes} processes`;
      // These blocks are not measured: every process runs both once.
      await bounce(team, pace);
      await contest(team, pace);
      const contests: Contest[] = [];
      await report.compare({
        ...{ rounds, gate: `hand-over p50 / floor p50, ${title}`, bound: party.bound },
        floor: { name: `${title}: bare write → its event`, measure: () => bounce(team, pace) },
        lock: {
          name: `${title}: release → grant`,
          measure: async () => {
            const found = await contest(team, pace);
            contests.push(found);
            return found.handOversMs;
          },
        },
      });
      const waitsMs = contests.flatMap((found) => found.waitsMs);
      report.timing(`${title}: wait`, waitsMs);
      if (name === 'eight') judgeFairness(report, contests, waitsMs);
    }
    await countCommands(team, report);
  },
});

function judgeFairness(report: Report, contests: readonly Contest[], waitsMs: readonly number[]): void {
  const spread = percentile(waitsMs, 0.99) / percentile(waitsMs, 0.5);
  report.gate('wait p99 / wait p50, 8 processes', spread, '≤', 1.5);
  const grantsEach = contests[0]?.grantsEach.map((_, index) =>
    sum(contests.map((each) => each.grantsEach[index] ?? 0)),
  );
  report.gate("Jain's index of the grants, 8 processes", jainIndex(grantsEach ?? []), '≥', 0.99);
}

/** Counts slowly and in a block of its own, because monitoring commands costs time. */
async function countCommands(team: RemoteTeam, report: Report): Promise<void> {
  const pace = { processes: 2, holdMs: 30, thinkMs: 15, blockMs: 3_000 };
  const { holdsEach, handOvers, commands } = await contest(team, pace, { countsCommands: true });
  for (const name of [...new Set(commands.map((command) => command.name))].sort()) {
    const count = commands.filter((command) => command.name === name).length;
    report.note(`${name} per hand-over`, count / handOvers.length);
  }
  report.gate('writes between release and grant', writesPerHandOver(holdsEach, handOvers, commands), '=', 1);
  const polls = commands.filter(({ name }) => READS.has(name)).length;
  report.gate('polls during all hand-overs', polls, '=', 0);
}
