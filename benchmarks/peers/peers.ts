// Other libraries at the same work, each on its own server, in turn and in the same run.
import { monotonicMs, sleep } from '../measure.js';
import { startContest } from '../processes/contest.js';
import type { ContestPace } from '../processes/contest.js';
import type { Span } from '../processes/holds.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { LIBRARIES } from './libraries.js';
import type { LibraryName } from './libraries.js';
import { describePackages } from './packages.js';
import { COMPARED, HEAD, describeLibrary, rowOf } from './score.js';
import type { Block } from './score.js';
import { Servers } from './servers.js';
import type { PeerServer } from './servers.js';

const OURS = 'leasehold';
const NAMES = Object.keys(LIBRARIES) as LibraryName[];

type Blocks = ReadonlyMap<LibraryName, readonly Block[]>;

export const peers = defineScenario({
  name: 'peers',
  about: 'eight processes that want one lock: this library, others on their own servers, and polling',
  parts: NAMES.filter((name) => name !== OURS),
  sizes: [1],
  settings: {
    processes: { meaning: 'how many want the lock', usual: 8 },
    rounds: { meaning: 'rounds; each has a block of every library', usual: 2, thorough: 4 },
    blockMs: { meaning: 'how long a block is measured', usual: 3_000, thorough: 3_500 },
  },
  async run({ settings: { processes, rounds, blockMs }, report, wants, bench }) {
    await using servers = await Servers.start(bench);
    await using team = await RemoteTeam.start(processes, bench.place);
    const pace = { processes, holdMs: 5, thinkMs: 5, blockMs };
    const blocks = new Map<LibraryName, Block[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const name of NAMES) {
        const server = servers.started.get(LIBRARIES[name].server);
        if (server === undefined || !(name === OURS || wants(name))) continue;
        blocks.set(name, [...(blocks.get(name) ?? []), await measure(team, name, server, pace)]);
      }
    }
    describe(report, blocks, pace);
    servers.describe(report);
    report.note('packages', describePackages());
    judge(report, blocks);
  },
});

async function measure(
  team: RemoteTeam,
  library: LibraryName,
  server: PeerServer,
  pace: ContestPace,
): Promise<Block> {
  const { span, ended } = await startContest(team, pace, { library, place: server.place });
  const [found, cost] = await Promise.all([ended, costDuring(span, server)]);
  return { ...found, ...cost };
}

async function costDuring({ fromMs, toMs }: Span, server: PeerServer) {
  await sleep(fromMs - monotonicMs());
  const [commandsBefore, msBefore] = [await server.countCommands(), server.processorMs()];
  await sleep(toMs - monotonicMs());
  const [commands, ms] = [await server.countCommands(), server.processorMs()];
  const each = [...commands].map(([name, count]) => [name, count - (commandsBefore.get(name) ?? 0)] as const);
  return { serverCommands: new Map(each), serverMs: ms - msBefore };
}

function describe(report: Report, blocks: Blocks, { processes, blockMs }: ContestPace): void {
  report.table(
    `${processes} processes, one lock, hold 5 ms, think 5 ms; times in ms`,
    HEAD,
    [...blocks].map(([name, own]) => [name, ...rowOf(LIBRARIES[name], own, blockMs)]),
  );
  for (const [name, own] of blocks) {
    report.note(name, describeLibrary(LIBRARIES[name], own));
  }
  const x = { label: `${processes} processes, hold 5 ms, think 5 ms`, values: [...blocks.keys()] };
  for (const name of ['hand-over p50', 'wait p99'] as const) {
    const values = [...blocks.values()].map(COMPARED[name]);
    report.plot({ title: name, kind: 'bar', x, y: 'ms', series: [values] });
  }
}

/** This library must be ahead of each other one: in the longest waits, in the hand-over and in fairness. */
function judge(report: Report, blocks: Blocks): void {
  const ours = blocks.get(OURS) ?? [];
  for (const [name, theirs] of blocks) {
    if (name === OURS) continue;
    for (const [figure, of] of Object.entries(COMPARED)) {
      const must = figure === "Jain's index" ? '≥' : '≤';
      // Rounded to the second decimal: beyond it, two fair queues differ by the last grant of a block.
      const ratio = (own: readonly Block[], other: readonly Block[]): number =>
        Number((of(own) / of(other)).toFixed(2));
      const isAhead = (value: number): boolean => (must === '≥' ? value >= 1 : value <= 1);
      const measured = ratio(ours, theirs);
      const rounds = ours.map((block, round) => ratio([block], theirs.slice(round, round + 1)));
      const isSteady = rounds.every((value) => isAhead(value) === isAhead(measured));
      report.gate(`${figure} / that of ${name}`, measured, must, 1, isSteady);
    }
  }
}
