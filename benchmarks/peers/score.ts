import { jainIndex, median, percentile } from '../../lab/statistics.js';
import type { Cell } from '../findings.js';
import type { Block } from './contest.js';
import type { Peer } from './peer.js';

/** The figures by which peers are compared, over all blocks or over one. */
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
export function rowOf(peer: Peer, blocks: readonly Block[], blockMs: number): readonly Cell[] {
  const [handOvers, waits, grants] = [handOversOf(blocks), waitsOf(blocks), grantsOf(blocks)];
  const commands = commandsPerGrant(peer, blocks).map(([, count]) => count);
  return [
    ...[median(handOvers), percentile(handOvers, 0.99), 100 * passedOverShare(blocks)],
    ...[median(waits), percentile(waits, 0.99), percentile(waits, 1)],
    grants / ((blocks.length * blockMs) / 1_000),
    COMPARED["Jain's index"](blocks),
    commands.length === 0 ? NaN : sum(commands),
    sum(blocks.map(({ processorMs = NaN }) => processorMs)) / grants,
  ];
}

/** The time of the hand-overs without a grant in between, if there are others; else an empty string. */
export function describeHandOvers(blocks: readonly Block[]): string {
  if (passedOverShare(blocks) < 0.01) return '';
  const direct = blocks.flatMap(({ handOvers }) => handOvers.filter(({ isPassedOver }) => !isPassedOver));
  return `hand-overs without a grant in between: p50 ${median(direct.map(({ tookMs }) => tookMs)).toFixed(2)} ms`;
}

/** `commands a grant: findAndModify 2.00, getMore 1.12`, or an empty string. */
export function describeCommands(peer: Peer, blocks: readonly Block[]): string {
  const each = commandsPerGrant(peer, blocks).map(([name, count]) => `${name} ${count.toFixed(2)}`);
  return each.length === 0 ? '' : `commands a grant: ${each.join(', ')}`;
}

/** The number of each command that the peer sends; empty if the server does not count them. */
function commandsPerGrant(peer: Peer, blocks: readonly Block[]): readonly (readonly [string, number])[] {
  const grants = grantsOf(blocks);
  return peer.sends
    .map((name) => [name, sum(blocks.map(({ commands }) => commands.get(name) ?? 0)) / grants] as const)
    .filter(([, count]) => count > 0);
}

const handOversOf = (blocks: readonly Block[]): number[] =>
  blocks.flatMap(({ handOvers }) => handOvers.map(({ tookMs }) => tookMs));

function passedOverShare(blocks: readonly Block[]): number {
  const all = blocks.flatMap(({ handOvers }) => handOvers);
  return all.filter(({ isPassedOver }) => isPassedOver).length / all.length;
}

const waitsOf = (blocks: readonly Block[]): number[] => blocks.flatMap((block) => block.waitsMs);

const grantsOf = (blocks: readonly Block[]): number => sum(blocks.flatMap(({ grantsEach }) => grantsEach));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
