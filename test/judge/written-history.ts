import type { History, RunLine, Seat, WorkerLine } from '../faults/history.js';

/** Hand-written histories for tests of the checkers. Times are in ms. */
type Without<L> = L extends { readonly atNs: string } ? Omit<L, 'atNs'> : never;
type At<L> = readonly [atMs: number, line: Without<L>];

export type Lines = readonly At<WorkerLine>[];

export const LOCK = 'lock';
export const MUTEX: Seat = { kind: 'mutex' };
export const READ: Seat = { kind: 'reader-writer', mode: 'read' };
export const UPGRADEABLE: Seat = { kind: 'reader-writer', mode: 'upgradeable' };
export const WRITE: Seat = { kind: 'reader-writer', mode: 'write' };
export const permits = (count: number): Seat => ({ kind: 'semaphore', permits: count, limit: 3 });

/** A time of the clock of a machine that is too large for an exact number. */
const BOOTED_NS = 9_007_199_254_740_993n;

export const at = (ms: number): string => String(BOOTED_NS + BigInt(Math.round(ms * 1e6)));

const stamped = <L>(lines: readonly At<L>[]): readonly L[] =>
  lines.map(([ms, line]) => ({ ...line, atNs: at(ms) }) as L);

export const history = (
  workers: readonly Lines[],
  run: readonly At<RunLine>[] = [],
  leaseMs = 1,
): History => ({
  workers: workers.map((lines) =>
    stamped<WorkerLine>([[0, { type: 'started', process: 'p', leaseMs }], ...lines]),
  ),
  run: stamped<RunLine>(run),
});

export const asked = (
  atMs: number,
  ask: number,
  seat: Seat = MUTEX,
  timeoutMs: number | null = null,
): At<WorkerLine> => [atMs, { type: 'asked', ask, lock: LOCK, seat, timeoutMs }];

export const granted = (atMs: number, ask: number, token: number, untilMs: number): At<WorkerLine> => [
  atMs,
  { type: 'granted', ask, token, id: `w${token}`, untilNs: at(untilMs) },
];

export const released = (atMs: number, ask: number): Lines => [
  [atMs, { type: 'releasing', ask }],
  [atMs + 1, { type: 'released', ask, wasHeld: true }],
];

/** One hold from its grant to its release. */
export const held = (seat: Seat, token: number, fromMs: number, toMs: number, ask = token): Lines => [
  asked(fromMs - 1, ask, seat),
  granted(fromMs, ask, token, toMs + 1_000),
  ...released(toMs, ask),
];

export const changed = (
  atMs: number,
  ask: number,
  token: number,
  to: 'read' | 'upgradeable' | 'write',
): Lines => [
  [atMs - 1, { type: 'changing', ask, to }],
  [atMs, { type: 'changed', ask, to, token, untilNs: at(atMs + 1_000) }],
];
