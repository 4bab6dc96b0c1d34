// Other libraries at the same work, each on its own server, in turn and in the same run.
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { contestTeam, runBlock } from './contest.js';
import type { Block } from './contest.js';
import { LINE_UP } from './line-up.js';
import type { PeerName } from './line-up.js';
import { describePackages } from './packages.js';
import { COMPARED, HEAD, describeCommands, describeHandOvers, rowOf } from './score.js';
import { Servers } from './servers/servers.js';

const OURS = 'leasehold';
const NAMES = Object.keys(LINE_UP) as PeerName[];

type Blocks = ReadonlyMap<PeerName, readonly Block[]>;

export const peers = defineScenario({
  name: 'peers',
  about: 'eight processes that want one lock: this library, others on their own servers, and polling',
  parts: NAMES.filter((name) => name !== OURS),
  sizes: [1],
  settings: {
    processes: { meaning: 'how many want the lock', usual: 8 },
    rounds: { meaning: 'rounds; each has a block of every peer', usual: 2, thorough: 4 },
    blockMs: { meaning: 'how long a block is measured', usual: 3_000, thorough: 3_500 },
  },
  async run({ settings: { processes, rounds, blockMs }, report, wants, open }) {
    await using bench = await open();
    await using servers = await Servers.start(bench);
    await using team = contestTeam(processes);
    const blocks = new Map<PeerName, Block[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const name of NAMES) {
        const server = servers.started.get(LINE_UP[name].server);
        if (server === undefined || !(name === OURS || wants(name))) continue;
        const block = await runBlock(team, name, server, { holdMs: 5, thinkMs: 5, blockMs });
        blocks.set(name, [...(blocks.get(name) ?? []), block]);
      }
    }
    describe(report, blocks, processes, blockMs);
    await describePlaces(report, servers);
    judge(report, blocks);
  },
});

function describe(report: Report, blocks: Blocks, processes: number, blockMs: number): void {
  report.table(
    `${processes} processes, one lock, hold 5 ms, think 5 ms; times in ms`,
    HEAD,
    [...blocks].map(([name, own]) => [name, ...rowOf(LINE_UP[name], own, blockMs)]),
  );
  for (const [name, own] of blocks) {
    const about = [LINE_UP[name].waits, describeHandOvers(own), describeCommands(LINE_UP[name], own)];
    report.note(name, about.filter((part) => part !== '').join('; '));
    const overlaps = own.reduce((sum, block) => sum + block.overlaps, 0);
    if (overlaps > 0) report.note(`${name}, held by two processes at the same time`, overlaps);
  }
  const x = { label: `${processes} processes, hold 5 ms, think 5 ms`, values: [...blocks.keys()] };
  for (const [title, name] of [
    ['Hand-over, p50', 'hand-over p50'],
    ['Wait for the lock, p99', 'wait p99'],
  ] as const) {
    const values = [...blocks.values()].map(COMPARED[name]);
    report.plot({ title, kind: 'bars', x, y: 'ms', series: [{ name, values }] });
  }
}

async function describePlaces(report: Report, { started, absent }: Servers): Promise<void> {
  for (const [name, { description, survives }] of started) {
    report.note(`server ${name}`, `${description}; a crash of its machine leaves ${survives}`);
  }
  for (const [name, why] of absent) report.note(`server ${name}`, `left out: ${why}`);
  report.note('packages', await describePackages());
}

/** This library must be ahead of each gated one: in the longest waits, in the hand-over and in fairness. */
function judge(report: Report, blocks: Blocks): void {
  const ours = blocks.get(OURS) ?? [];
  for (const [name, theirs] of blocks) {
    if (!LINE_UP[name].isGated) continue;
    for (const [figure, of] of Object.entries(COMPARED)) {
      const must = figure === "Jain's index" ? '≥' : '≤';
      // Rounded to the second decimal: beyond it, two fair queues differ by the last grant of a block.
      const ratio = (own: readonly Block[], other: readonly Block[]): number =>
        Number((of(own) / of(other)).toFixed(2));
      const isAhead = (value: number): boolean => (must === '≥' ? value >= 1 : value <= 1);
      const measured = ratio(ours, theirs);
      const rounds = ours.map((block, round) => ratio([block], theirs.slice(round, round + 1)));
      const isSteady = rounds.every((value) => isAhead(value) === isAhead(measured));
      report.gate({ name: `${figure} / that of ${name}`, measured, must, bound: 1, isSteady });
    }
  }
}
