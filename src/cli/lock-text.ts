// Shows locks as lines and tables for people. `Output` escapes every text when it prints the lines.

import type { LeaseInfo, LockSnapshot, WaiterInfo } from '../index.js';
import type { Cell } from './output.js';
import { shownDuration } from './values.js';

export const LOCK_HEAD: readonly string[] = ['NAME', 'KIND', 'HELD', 'WAITING', 'OLDEST', 'HELD BY'];

/** One line of `ls` and `top`. */
export function lockCells({ name, kind, asOf, limit, holders, waiters }: LockSnapshot): readonly Cell[] {
  const [oldest] = [...holders].sort((a, b) => a.acquiredAt.getTime() - b.acquiredAt.getTime());
  const taken = holders.reduce((sum, { permits = 1 }) => sum + permits, 0);
  return [
    { text: name },
    { text: kind, style: 'dim' },
    { text: limit === undefined ? String(holders.length) : `${taken}/${limit}` },
    { text: String(waiters.length), style: waiters.length > 0 ? 'yellow' : undefined },
    { text: oldest === undefined ? '-' : age(asOf, oldest.acquiredAt) },
    { text: oldest === undefined ? '-' : nameOf(oldest) + more(holders.length) },
  ];
}

export const HOLDER_HEAD: readonly string[] = [
  'HOLDER',
  'MODE',
  'TOKEN',
  'HELD FOR',
  'TIME LEFT',
  'ID',
  'WHY',
];

export const holderCells = (asOf: Date, holder: LeaseInfo): readonly Cell[] => [
  { text: nameOf(holder) },
  { text: modeOf(holder) },
  { text: String(holder.token) },
  { text: age(asOf, holder.acquiredAt) },
  { text: age(holder.expiresAt, asOf) },
  { text: holder.id, style: 'dim' },
  { text: stored(holder.why) ?? '' },
];

export const WAITER_HEAD: readonly string[] = ['WAITER', 'MODE', 'WAITS FOR', 'ID', 'WHY'];

export const waiterCells = (asOf: Date, waiter: WaiterInfo): readonly Cell[] => [
  { text: nameOf(waiter) },
  { text: modeOf(waiter) },
  { text: age(asOf, waiter.since) },
  { text: waiter.id, style: 'dim' },
  { text: stored(waiter.why) ?? '' },
];

/** The holders, and how many wait, in one line. */
export function stateLine({ holders, waiters }: LockSnapshot): string {
  const held = holders.map((holder) => {
    const why = stored(holder.why);
    return `${nameOf(holder)}, token ${holder.token}${why === undefined ? '' : `, for ${why}`}`;
  });
  const state = held.length === 0 ? 'free' : `held by ${held.join('; ')}`;
  return waiters.length === 0 ? state : `${state}; ${waiters.length} waiting`;
}

function nameOf({ candidateId, label, process }: LeaseInfo | WaiterInfo): string {
  const candidate = stored(candidateId);
  const name = candidate !== undefined && candidate !== process ? candidate : stored(label);
  return name === undefined ? process : `${name} (${process})`;
}

const modeOf = ({ mode, permits }: LeaseInfo | WaiterInfo): string =>
  stored(mode) ?? (typeof permits === 'number' ? `${permits} permit${permits === 1 ? '' : 's'}` : '-');

/** An optional text may be stored as any type: the server checks only what the protocol depends on. */
const stored = (text: unknown): string | undefined => (typeof text === 'string' ? text : undefined);

const more = (holders: number): string => (holders > 1 ? ` and ${holders - 1} more` : '');

const age = (now: Date, since: Date): string => shownDuration(now.getTime() - since.getTime());
