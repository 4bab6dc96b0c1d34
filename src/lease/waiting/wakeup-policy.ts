/**
 * Decides whether a process listens to its change stream or reads its places, from what it knows of its waits.
 *
 * An open change stream costs the server about 60 µs of processor time for every write in the whole replica set
 * (docs/operations.md), so a process that waits must not listen for ever. A wait is *near* if its turn may come soon:
 * it is the head of its queue, or its queue has moved lately. All other waits are *far*. A process that has no near
 * wait and is no near keeper reads its places once a second. The process listens again as soon as it sees a queue move.
 */

/** The position of this process's waits in the queue of one lock, as far as the process knows. */
export interface QueuePosition {
  /** The lowest place of these waits: 0 for the head of the queue, and for an upgrade. */
  readonly place: number;
  /** The length of the queue, including the waiters of other processes. */
  readonly waiters: number;
  /** When this process last saw the queue move, or joined it. */
  readonly movedAtMs: number;
}

/** How far the waits of a process are from their turns. */
export type Distance =
  /** The process listens until `untilMs`, and then decides again. */
  | { readonly type: 'near'; readonly untilMs: number }
  /** The process reads its places once in every second of the server's clock, `phaseMs` after that second begins. */
  | { readonly type: 'far'; readonly phaseMs: number };

export const READ_EVERY_MS = 1_000;

/** Far processes at neighbouring places in the queue read at most this long after each other, in ms. */
const STEP_MS = 8;

/**
 * A queue counts as quiet if it has not moved for this time, and a keeper may become far if no hold of its kept seats
 * has begun or ended for this time. In a queue that moves faster than once a second, a far process would delay each
 * hand-over by up to a second. So this time is at least a second, even if `wakeIdleMs` is shorter.
 */
export const quietMsFor = (wakeIdleMs: number): number => Math.max(wakeIdleMs, READ_EVERY_MS);

/** How far these waits are from their turns; `undefined` if there are none. */
export function distanceFor(
  positions: readonly QueuePosition[],
  wakeIdleMs: number,
  nowMs: number,
): Distance | undefined {
  const quietMs = quietMsFor(wakeIdleMs);
  let first: QueuePosition | undefined;
  let movedAtMs = -Infinity;
  for (const position of positions) {
    if (first === undefined || position.place < first.place) first = position;
    movedAtMs = Math.max(movedAtMs, position.movedAtMs);
  }
  if (first === undefined) return undefined;
  if (first.place === 0) return { type: 'near', untilMs: nowMs + quietMs };
  if (nowMs < movedAtMs + quietMs) return { type: 'near', untilMs: movedAtMs + quietMs };
  return { type: 'far', phaseMs: phaseOf(first) };
}

/**
 * The far processes of one queue read in the order of their places, once in every second of the server's clock. When a
 * quiet queue begins to move, only the first far waiter finds its grant up to a second late. The next waiter reads just
 * after the first, sees the queue move, and listens before its own turn comes; so do the waiters behind. With reads at
 * arbitrary times, each of the first hand-overs could take a second.
 */
const phaseOf = ({ place, waiters }: QueuePosition): number =>
  place * Math.min(STEP_MS, READ_EVERY_MS / Math.max(waiters, 1));

/**
 * How long a far process waits until its next read, in ms. Two reads are at least half a second apart. After a
 * read, the phase may become a little later, because queues change, and the estimate of the server's clock may go back.
 * Neither must cause an additional read.
 */
export function untilReadMs(phaseMs: number, serverMs: number, sinceReadMs: number): number {
  const pauseMs = Math.max(0, READ_EVERY_MS / 2 - sinceReadMs);
  return pauseMs + modulo(phaseMs - serverMs - pauseMs, READ_EVERY_MS);
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;
