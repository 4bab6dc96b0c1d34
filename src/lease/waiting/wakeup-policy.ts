/**
 * Whether a process listens for its grants or reads them: one function of what is known of its waits.
 *
 * An open change stream costs the server some 30 µs of processor time for every write of the whole replica set, so
 * standbys must not listen for ever. *Near* is whoever may be next at any moment: the first of some queue, and everybody
 * in a queue that has moved lately. All others are *far*: they read their places once a second, and listen again as soon
 * as they see their queue move.
 */

/** What is known of the waits of this process for one lock. */
export interface QueuePosition {
  /** The place of the first of them; 0 for the head, and for an upgrade, which nobody is ahead of. */
  readonly place: number;
  /** How long the queue is, with those of other processes. */
  readonly waiters: number;
  /** When this process has seen the queue move, or came to it. */
  readonly movedAtMs: number;
}

export type WakeupMode =
  /** Listens; to be decided anew then. */
  | { readonly type: 'near'; readonly untilMs: number }
  /** Reads its places once in every second of the server's clock, when so much of it has passed. */
  | { readonly type: 'far'; readonly phaseMs: number };

const READ_EVERY_MS = 1_000;

/** How much later than whoever is before it in the queue a process reads. */
const STEP_MS = 8;

/**
 * `undefined`: nobody waits. A queue that moves more often than the far read it is not quiet, whatever
 * `wakeIdleMs` says: going far between two hand-overs would make each of them take up to a second.
 */
export function wakeupModeFor(
  standings: readonly QueuePosition[],
  wakeIdleMs: number,
  nowMs: number,
): WakeupMode | undefined {
  const quietMs = Math.max(wakeIdleMs, READ_EVERY_MS);
  let first: QueuePosition | undefined;
  let movedAtMs = -Infinity;
  for (const standing of standings) {
    if (first === undefined || standing.place < first.place) first = standing;
    movedAtMs = Math.max(movedAtMs, standing.movedAtMs);
  }
  if (first === undefined) return undefined;
  if (first.place === 0) return { type: 'near', untilMs: nowMs + quietMs };
  if (nowMs < movedAtMs + quietMs) return { type: 'near', untilMs: movedAtMs + quietMs };
  return { type: 'far', phaseMs: phaseOf(first) };
}

/**
 * The reads of a queue sweep over it, from its head to its end, once in a second of the server's clock. When a quiet
 * queue begins to move, only the first far waiter finds its grant up to a second late: the next one reads just after it,
 * and so on, and all who read from then on see the queue move and listen before it is their turn. If everybody read when
 * it likes, each of the first hand-overs could take a second.
 */
const phaseOf = ({ place, waiters }: QueuePosition): number =>
  place * Math.min(STEP_MS, READ_EVERY_MS / Math.max(waiters, 1));

/**
 * How long until the next read of a far process. Half a second at least lies between two: the phase may come back by a
 * little, because queues change and the server's clock is only estimated, and that must not call for a second read.
 */
export function untilReadMs(phaseMs: number, serverMs: number, sinceReadMs: number): number {
  const pauseMs = Math.max(0, READ_EVERY_MS / 2 - sinceReadMs);
  return pauseMs + modulo(phaseMs - serverMs - pauseMs, READ_EVERY_MS);
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;
