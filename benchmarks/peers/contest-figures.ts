import type { Hold, Span } from './contest-process.js';

/**
 * From just before the release call in one process to the first grant to another that was waiting then. Grants to those
 * who came later do not end it: else a lock that the releaser takes again and again would be judged by the few times
 * when it does not.
 */
interface HandOver {
  readonly tookMs: number;
  /** There were such grants in between. */
  readonly isPassedOver: boolean;
}

/** What a block of contention was like for those who wanted the lock. */
export interface Grants {
  readonly handOvers: readonly HandOver[];
  /** Of every grant, also of those who still waited at the end and were let through then: no long wait is lost. */
  readonly waitsMs: readonly number[];
  /** Within the block, of each process. */
  readonly grantsEach: readonly number[];
  /** How often two processes had the lock at a time, by the clock that they share. */
  readonly overlaps: number;
}

export function grantsIn(holdsEach: readonly (readonly Hold[])[], { fromMs, toMs }: Span): Grants {
  const isWithin = (atMs: number): boolean => atMs >= fromMs && atMs < toMs;
  const inOrder = holdsEach.flat().sort((a, b) => a.grantedMs - b.grantedMs);
  const handOvers = inOrder.flatMap((from, index) =>
    isWithin(from.releasedMs) ? handOverOf(from, inOrder.slice(index + 1)) : [],
  );
  return {
    handOvers,
    waitsMs: inOrder
      .filter(({ grantedMs }) => grantedMs >= fromMs)
      .map(({ askedMs, grantedMs }) => grantedMs - askedMs),
    grantsEach: holdsEach.map((holds) => holds.filter(({ grantedMs }) => isWithin(grantedMs)).length),
    overlaps: inOrder.filter(
      ({ releasedMs }, index) => (inOrder[index + 1]?.grantedMs ?? Infinity) < releasedMs,
    ).length,
  };
}

/** To the first who was waiting at the release; none if nobody was. */
function handOverOf({ releasedMs }: Hold, later: readonly Hold[]): readonly HandOver[] {
  const next = later.findIndex(({ askedMs }) => askedMs <= releasedMs);
  const to = later[next];
  return to === undefined ? [] : [{ tookMs: to.grantedMs - releasedMs, isPassedOver: next > 0 }];
}
