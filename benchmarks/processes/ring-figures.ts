import type { Bounced, Contended, Hold, Span } from './ring-process.js';

const isWithin = ({ fromMs, toMs }: Span, atMs: number): boolean => atMs >= fromMs && atMs < toMs;

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

interface HandOver {
  readonly from: Hold;
  readonly to: Hold;
}

/** Pairs of holds of different processes, of which the second was waiting when the first ended. */
export function handOversOf(
  contended: readonly Contended[],
  span: Span,
): { readonly holdsEach: readonly (readonly Hold[])[]; readonly handOvers: readonly HandOver[] } {
  const holdsEach = contended.map(({ holds }) => holds.filter(({ grantedMs }) => isWithin(span, grantedMs)));
  const owned = holdsEach.flatMap((holds, owner) => holds.map((hold) => ({ owner, hold })));
  owned.sort((a, b) => a.hold.token - b.hold.token);
  const handOvers = owned.flatMap(({ owner, hold: to }, index) => {
    const before = owned[index - 1];
    if (before === undefined || before.owner === owner || to.askedMs > before.hold.releasedMs) return [];
    return [{ from: before.hold, to }];
  });
  return { holdsEach, handOvers };
}

export interface CommandCount {
  readonly handOvers: number;
  /** Sent between a release call and the grant that followed, on the average. */
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
  // A request that happens to come meanwhile is no part of the hand-over.
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
