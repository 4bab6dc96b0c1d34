import type { TurnTakerOptions } from '../floor.js';
import type { LibraryName } from '../peers/libraries.js';
import type { Place } from './connections.js';
import type { Contended, Pace } from './contender.js';
import { grantsOf, handOversOf, isWithin, msOf, spanAfterWarmUp, waitsOf } from './holds.js';
import type { HandOver, HoldsEach, SentCommand, Span } from './holds.js';
import type { RemoteTeam } from './remote-process.js';

/** The pace of a block of contention. */
export interface ContestPace extends Pace {
  /** The number of processes that take part. */
  readonly processes: number;
  readonly blockMs: number;
}

/** The figures of a block of contention. */
export interface Contest {
  readonly handOvers: readonly HandOver[];
  /** The durations of these hand-overs. */
  readonly handOversMs: readonly number[];
  readonly waitsMs: readonly number[];
  readonly grantsEach: readonly number[];
  readonly holdsEach: HoldsEach;
  /** The commands after the warm-up, if they were counted. */
  readonly commands: readonly SentCommand[];
}

interface ContestOptions {
  readonly library?: LibraryName;
  /** Where its server is, if that is not the server of the team. */
  readonly place?: Place;
  readonly countsCommands?: boolean;
}

/** The processes begin to want one lock all the time, through one library. */
export async function startContest(
  team: RemoteTeam,
  { processes, holdMs, thinkMs, blockMs }: ContestPace,
  { library = 'leasehold', place = team.place, countsCommands = false }: ContestOptions = {},
): Promise<{ readonly span: Span; readonly ended: Promise<Contest> }> {
  await team.askAll('join', [library, place, countsCommands], processes);
  const span = spanAfterWarmUp(blockMs);
  const ended = team.askAll('contend', [span, { holdMs, thinkMs }], processes);
  return { span, ended: ended.then((each) => figuresOf(each, span)) };
}

function figuresOf(each: readonly Contended[], span: Span): Contest {
  const holdsEach = each.map(({ holds }) => holds);
  const handOvers = handOversOf(holdsEach, span);
  return {
    ...{ handOvers, handOversMs: handOvers.map(msOf), waitsMs: waitsOf(holdsEach, span) },
    ...{ grantsEach: grantsOf(holdsEach, span), holdsEach },
    commands: each.flatMap(({ commands }) => commands.filter(({ atMs }) => atMs >= span.fromMs)),
  };
}

/** A whole block of contention. */
export async function contest(
  team: RemoteTeam,
  pace: ContestPace,
  options?: ContestOptions,
): Promise<Contest> {
  const { ended } = await startContest(team, pace, options);
  return await ended;
}

/** The floor of a hand-over: from just before each bare write in one process to its event in another, in ms. */
export async function bounce(
  team: RemoteTeam,
  { processes, holdMs, blockMs }: ContestPace,
): Promise<readonly number[]> {
  const members = team.members.slice(0, processes);
  const optionsOf = (self: number): TurnTakerOptions => ({ self, next: (self + 1) % processes, holdMs });
  await Promise.all(members.map((member, self) => member.ask('listen', optionsOf(self))));
  const span = spanAfterWarmUp(blockMs);
  const turns = await Promise.all(members.map((member, self) => member.ask('bounce', span, self === 0)));
  await team.askAll('close', [], processes);
  const passedMs = new Map(turns.flatMap(({ passed }) => passed.map(({ n, atMs }) => [n, atMs] as const)));
  return turns
    .flatMap(({ received }) => received)
    .filter(({ atMs }) => isWithin(span, atMs))
    .map(({ n, atMs }) => atMs - (passedMs.get(n) ?? NaN));
}
