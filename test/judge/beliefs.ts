import type { Seat } from '../faults/history.js';
import type { Ask } from './asks.js';
import type { Reliance } from './conflicts.js';

/** A time in which a worker relied on one hold in one mode. */
export interface Belief extends Reliance {
  readonly of: Ask;
}

/**
 * The beliefs of a worker in one hold: from its grant until the worker releases it or hears of its loss, but never
 * beyond the last promise. A paused or killed worker counts too, because the server must not give away what is promised.
 * An operator that evicts the hold gives it away all the same: then the belief counts until the eviction.
 */
export function beliefsOf(asked: Ask, endNs: number = endOf(asked)): readonly Belief[] {
  if (asked.granted === undefined) return [];
  const { lock, seat, granted, changes } = asked;
  const first = { atNs: granted.atNs, seat, token: granted.token };
  const parts = [first, ...changes.map(({ atNs, to, token }) => ({ atNs, seat: inMode(seat, to), token }))];
  return parts.map(({ atNs, seat: part, token }, index) => ({
    ...{ lock, seat: part, token, of: asked, fromNs: atNs },
    untilNs: Math.min(endNs, parts[index + 1]?.atNs ?? Infinity),
  }));
}

export const endOf = ({ promisedNs, lostNs, notHeldNs, releasingNs, evictedNs }: Ask): number =>
  Math.min(promisedNs, ...[lostNs, notHeldNs, releasingNs, evictedNs].map((ns) => ns ?? Infinity));

const inMode = (seat: Seat, mode: 'read' | 'upgradeable' | 'write'): Seat =>
  seat.kind === 'reader-writer' ? { kind: 'reader-writer', mode } : seat;
