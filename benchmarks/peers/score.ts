import type { Cell } from '../findings.js';
import { msOf } from '../processes/holds.js';
import type { Contest } from '../processes/contest.js';
import { jainIndex, median, percentile, sum } from '../../lab/statistics.js';
import type { Library } from './library.js';

/** A block of contention through one library, and what its server did meanwhile. */
export interface Block extends Contest {
  readonly serverCommands: ReadonlyMap<string, number>;
  readonly serverMs: number;
}

const grantsOf = (blocks: readonly Block[]): number => sum(blocks.flatMap(({ grantsEach }) => grantsEach));
const waitsOf = (blocks: readonly Block[]): readonly number[] => blocks.flatMap(({ waitsMs }) => waitsMs);
const handOversOf = (blocks: readonly Block[]): readonly number[] =>
  blocks.flatMap(({ handOversMs }) => handOversMs);

/** The hand-overs without a grant in between. */
const directOf = (blocks: readonly Block[]): readonly number[] =>
  blocks.flatMap(({ handOvers }) => handOvers.filter(({ isPassedOver }) => !isPassedOver).map(msOf));

/** The figures by which libraries are compared, over all blocks or over one. */
export const COMPARED = {
  'wait p99': (blocks: readonly Block[]) => percentile(waitsOf(blocks), 0.99),
  'hand-over p50': (blocks: readonly Block[]) => median(handOversOf(blocks)),
  /** The median of the blocks: over all blocks together, starving processes would seem to take turns. */
  "Jain's index": (blocks: readonly Block[]) => median(blocks.map(({ grantsEach }) => jainIndex(grantsEach))),
} as const;

export const HEAD = [
  ...['', 'hand-over p50', 'p99', 'passed over %', 'wait p50', 'p99', 'max'],
  ...['grants/s', "Jain's index", 'commands a grant', 'server CPU a grant'],
] as const;

/** A row under {@link HEAD}; NaN for a figure that is not known. */
export function rowOf(library: Library, blocks: readonly Block[], blockMs: number): readonly Cell[] {
  const [handOvers, waits, grants] = [handOversOf(blocks), waitsOf(blocks), grantsOf(blocks)];
  const passedOver = 1 - directOf(blocks).length / handOvers.length;
  return [
    ...[median(handOvers), percentile(handOvers, 0.99), 100 * passedOver],
    ...[median(waits), percentile(waits, 0.99), percentile(waits, 1)],
    ...[grants / ((blocks.length * blockMs) / 1_000), COMPARED["Jain's index"](blocks)],
    sum(commandsPerGrant(library, blocks).map(([, count]) => count)),
    sum(blocks.map(({ serverMs }) => serverMs)) / grants,
  ];
}

/** `queued; hand-overs without a grant in between: p50 3.42 ms; commands a grant: findAndModify 2.00, getMore 1.12` */
export function describeLibrary(library: Library, blocks: readonly Block[]): string {
  const commands = commandsPerGrant(library, blocks).map(([name, count]) => `${name} ${count.toFixed(2)}`);
  return [
    library.waits,
    `hand-overs without a grant in between: p50 ${median(directOf(blocks)).toFixed(2)} ms`,
    `commands a grant: ${commands.join(', ')}`,
  ].join('; ');
}

/** The number of each command that the library sends. */
const commandsPerGrant = (library: Library, blocks: readonly Block[]) =>
  library.sends
    .map((name) => {
      const count = sum(blocks.map(({ serverCommands }) => serverCommands.get(name) ?? 0));
      return [name, count / grantsOf(blocks)] as const;
    })
    .filter(([, count]) => count > 0);
