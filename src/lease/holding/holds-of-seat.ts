import type { LossCause } from '../../errors.js';
import type { AttemptEvent } from '../../events.js';

/**
 * A hold, as its seat sees it: an interface, because hold.ts imports seat.ts, and imports must form no circle.
 */
export interface SeatHold {
  readonly event: AttemptEvent & { readonly fencingToken: number };
  readonly heldMs: number;
  /**
   * Marks the hold as lost, and calls no other code. `tellEnd` then tells the handle and the callbacks of `onEnded`.
   */
  lose(why: LossCause): void;
  tellEnd(): void;
  requestRelease(): void;
  noteCall(nonce: string): void;
}

/**
 * The holds of one seat: an array of at most one hold, or a set once a second hold has joined. A process may have
 * thousands of seats, nearly all with one hold. For one hold, an array takes 56 bytes, a third of what a set takes.
 */
export type HoldsOfSeat<H> = readonly [] | readonly [H] | Set<H>;

export function withHold<H>(holds: HoldsOfSeat<H>, hold: H): HoldsOfSeat<H> {
  if (holds instanceof Set) return holds.add(hold);
  const [only] = holds;
  return only === undefined ? [hold] : new Set([only, hold]);
}

export function withoutHold<H>(holds: HoldsOfSeat<H>, hold: H): HoldsOfSeat<H> {
  if (!(holds instanceof Set)) return holds[0] === hold ? [] : holds;
  holds.delete(hold);
  return holds;
}

export const countOf = (holds: HoldsOfSeat<unknown>): number =>
  holds instanceof Set ? holds.size : holds.length;

/**
 * The holds at this moment, in a list that does not change: code that is called for one hold may end others or begin
 * new ones.
 */
export const listed = <H>(holds: HoldsOfSeat<H>): readonly H[] => (holds instanceof Set ? [...holds] : holds);
