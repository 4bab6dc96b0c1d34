import { allHandOvers, isWithin } from './contended.js';
import type { HandOver, Hold, Span } from './contended.js';
import type { Bounced, Contended } from './ring-process.js';

/** From just before each bare write to its event in another process. */
export function flightsOf(bounced: readonly Bounced[], span: Span): readonly number[] {
  const passedAtMs = new Map(
    bounced.flatMap(({ passed }) => passed.map(({ n, atMs }) => [n, atMs] as const)),
  );
  return bounced
    .flatMap(({ received }) => received)
    .filter(({ atMs }) => isWithin(span, atMs))
    .map(({ n, atMs }) => atMs - (passedAtMs.get(n) ?? NaN));
}

/** Consecutive holds within the span, the second of a process that was waiting when the first ended. */
export const handOversOf = (holdsEach: readonly (readonly Hold[])[], span: Span): readonly HandOver[] =>
  allHandOvers(holdsEach).filter(
    ({ from, to, isPassedOver }) =>
      !isPassedOver && isWithin(span, from.grantedMs) && isWithin(span, to.grantedMs),
  );

export interface CommandCount {
  readonly handOvers: number;
  /** The average number of writes between a release call and the grant that follows. */
  readonly writesBetween: number;
  readonly polls: number;
  readonly perHandOver: string;
}

const WRITES: ReadonlySet<string> = new Set(['findAndModify', 'insert', 'update', 'delete']);
const READS: ReadonlySet<string> = new Set(['find', 'aggregate']);

export function countCommands(
  contended: readonly Contended[],
  handOvers: readonly HandOver[],
  span: Span,
): CommandCount {
  const holds = contended.flatMap((each) => each.holds);
  const commands = contended.flatMap((each) => each.commands.filter(({ atMs }) => isWithin(span, atMs)));
  const writes = commands.filter(({ name }) => WRITES.has(name));
  const isBetween = ({ from, to }: HandOver, atMs: number): boolean =>
    atMs >= from.releasedMs && atMs < to.grantedMs;
  // A request that happens to arrive during a hand-over is no part of it.
  const undisturbed = handOvers.filter(
    (handOver) => !holds.some(({ askedMs }) => isBetween(handOver, askedMs)),
  );
  const between = undisturbed.map(
    (handOver) => writes.filter(({ atMs }) => isBetween(handOver, atMs)).length,
  );
  const names = [...new Set(commands.map(({ name }) => name))].sort();
  const perHandOver = names.map((name) => {
    const count = commands.filter((command) => command.name === name).length;
    return `${name} ${(count / handOvers.length).toFixed(2)}`;
  });
  return {
    handOvers: undisturbed.length,
    writesBetween: between.reduce((sum, count) => sum + count, 0) / between.length,
    polls: commands.filter(({ name }) => READS.has(name)).length,
    perHandOver: perHandOver.join(', '),
  };
}
