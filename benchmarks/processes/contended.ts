// Processes that want one lock all the time: what each of them does, and what their holds tell.
import { monotonicMs, sleep } from '../measure.js';

/** When a block is measured, on the clock that the processes share. Everything before it is warm-up. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export function spanAfter(warmUpMs: number, blockMs: number): Span {
  const fromMs = monotonicMs() + warmUpMs;
  return { fromMs, toMs: fromMs + blockMs };
}

export const isWithin = ({ fromMs, toMs }: Span, atMs: number): boolean => atMs >= fromMs && atMs < toMs;

/** One hold; `releasedMs` is the moment just before the release call. */
export interface Hold {
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly releasedMs: number;
}

export interface Pace {
  readonly holdMs: number;
  readonly thinkMs: number;
}

/** Acquires and releases again and again until the span is over. */
export async function contend(
  acquire: () => Promise<() => Promise<unknown>>,
  { toMs }: Span,
  { holdMs, thinkMs }: Pace,
): Promise<readonly Hold[]> {
  const holds: Hold[] = [];
  while (monotonicMs() < toMs) {
    const askedMs = monotonicMs();
    const release = await acquire();
    const grantedMs = monotonicMs();
    await sleep(holdMs);
    const releasedMs = monotonicMs();
    await release();
    holds.push({ askedMs, grantedMs, releasedMs });
    await sleep(thinkMs);
  }
  return holds;
}

/** From a hold to the first later hold whose process was waiting at the release. */
export interface HandOver {
  readonly from: Hold;
  readonly to: Hold;
  /** True if other processes that asked after the release were granted the lock in between. */
  readonly isPassedOver: boolean;
}

/** The time from the release call in one process to the grant in another. */
export const msOf = ({ from, to }: HandOver): number => to.grantedMs - from.releasedMs;

/** The hand-overs among the processes, in order. A process never waits while it holds, so the two always differ. */
export function allHandOvers(holdsEach: readonly (readonly Hold[])[]): readonly HandOver[] {
  const inOrder = holdsEach.flat().sort((a, b) => a.grantedMs - b.grantedMs);
  return inOrder.flatMap((from, index) => {
    const later = inOrder.slice(index + 1);
    const next = later.findIndex(({ askedMs }) => askedMs < from.releasedMs);
    const to = later[next];
    return to === undefined ? [] : [{ from, to, isPassedOver: next > 0 }];
  });
}

/** Every wait that ended with a grant within the span. */
export const waitsWithin = (holdsEach: readonly (readonly Hold[])[], span: Span): readonly number[] =>
  holdsEach
    .flat()
    .filter(({ grantedMs }) => isWithin(span, grantedMs))
    .map(({ askedMs, grantedMs }) => grantedMs - askedMs);

/** The number of grants within the span, for each process. */
export const grantsWithin = (holdsEach: readonly (readonly Hold[])[], span: Span): readonly number[] =>
  holdsEach.map((holds) => holds.filter(({ grantedMs }) => isWithin(span, grantedMs)).length);
