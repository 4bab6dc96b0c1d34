// The holds of processes that want one lock all the time, and the figures that these holds give.
import { monotonicMs } from '../measure.js';

/** When a block is measured, on the clock that the processes share. Everything before it is warm-up. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** By the end of the warm-up, every process waits, every stream is open, and the code is compiled. */
const WARM_UP_MS = 1_000;

export function spanAfterWarmUp(blockMs: number): Span {
  const fromMs = monotonicMs() + WARM_UP_MS;
  return { fromMs, toMs: fromMs + blockMs };
}

export const isWithin = ({ fromMs, toMs }: Span, atMs: number): boolean => atMs >= fromMs && atMs < toMs;

/** One hold; `releasedMs` is the moment just before the release call. */
export interface Hold {
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly releasedMs: number;
}

/** The holds of each process. */
export type HoldsEach = readonly (readonly Hold[])[];

/**
 * From a release call to the first later grant to a process that was waiting then. A grant to a process that asked later
 * does not end a hand-over: else a lock that the releaser takes again and again would be judged by the few times when it
 * does not.
 */
export interface HandOver {
  readonly from: Hold;
  readonly to: Hold;
  /** True if processes that asked after the release were granted the lock in between. */
  readonly isPassedOver: boolean;
}

export const msOf = ({ from, to }: HandOver): number => to.grantedMs - from.releasedMs;

/**
 * The hand-overs that begin within the span. A process never waits while it holds, so the two holds are of
 * different processes.
 */
export function handOversOf(holdsEach: HoldsEach, span: Span): readonly HandOver[] {
  const holds = holdsEach.flat().sort((a, b) => a.grantedMs - b.grantedMs);
  return holds.flatMap((from, index) => {
    const later = holds.slice(index + 1);
    const next = later.findIndex(({ askedMs }) => askedMs < from.releasedMs);
    const to = later[next];
    return to === undefined || !isWithin(span, from.releasedMs) ? [] : [{ from, to, isPassedOver: next > 0 }];
  });
}

/** Every wait that ended after the warm-up. A wait that ended after the block counts too, so no long wait is lost. */
export const waitsOf = (holdsEach: HoldsEach, { fromMs }: Span): readonly number[] =>
  holdsEach
    .flat()
    .filter(({ grantedMs }) => grantedMs >= fromMs)
    .map(({ askedMs, grantedMs }) => grantedMs - askedMs);

/** The number of grants within the span, for each process. */
export const grantsOf = (holdsEach: HoldsEach, span: Span): readonly number[] =>
  holdsEach.map((holds) => holds.filter(({ grantedMs }) => isWithin(span, grantedMs)).length);

export interface SentCommand {
  readonly name: string;
  readonly atMs: number;
}

const WRITES: ReadonlySet<string> = new Set(['findAndModify', 'insert', 'update', 'delete']);

export const isWrite = (command: string): boolean => WRITES.has(command);

/**
 * The average number of writes between a release call and the grant that follows. A request that happens to arrive
 * during a hand-over is no part of it, so such hand-overs are left out.
 */
export function writesPerHandOver(
  holdsEach: HoldsEach,
  handOvers: readonly HandOver[],
  commands: readonly SentCommand[],
): number {
  const isDuring = ({ from, to }: HandOver, atMs: number): boolean =>
    atMs >= from.releasedMs && atMs < to.grantedMs;
  const undisturbed = handOvers.filter(
    (handOver) => !holdsEach.flat().some(({ askedMs }) => isDuring(handOver, askedMs)),
  );
  const writes = commands.filter(({ name }) => isWrite(name));
  const between = undisturbed.flatMap((handOver) => writes.filter(({ atMs }) => isDuring(handOver, atMs)));
  return between.length / undisturbed.length;
}
