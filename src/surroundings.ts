import { hostname } from 'node:os';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';
import { goBy } from './keep-alive.js';

/**
 * The parts of a process that a simulation replaces, apart from the driver: the time, the turns of the event loop,
 * chance, and the process name.
 */
export interface Surroundings {
  readonly clock: Clock;
  /** `host:pid`, for people to read. */
  readonly processName: string;
  /** The same for all processes whose clocks go on together. */
  readonly timeline: Timeline;
  /** Aborts when a simulation is over: from then on no timer fires. The signal of the real process never aborts. */
  readonly over: AbortSignal;
}

/** `real`, or the virtual time of a simulation. */
export type Timeline = 'real' | object;

/** The key under which a simulated `Db` and a simulated client have the surroundings of their process. */
export const SURROUNDINGS: unique symbol = Symbol.for('leasehold.surroundings') as never;

/** The surroundings of the process that uses this `Db` or client: of the simulated process, or of the real one. */
export function surroundingsOf(db: object | undefined): Surroundings {
  const surroundings = simulatedSurroundingsOf(db) ?? systemSurroundings;
  goBy(surroundings.over);
  return surroundings;
}

/** The surroundings of the simulated process that uses this `Db` or client; `undefined` if `db` is not simulated. */
export const simulatedSurroundingsOf = (db: object | undefined): Surroundings | undefined =>
  (db as { readonly [SURROUNDINGS]?: Surroundings } | undefined)?.[SURROUNDINGS];

/** Whether all these databases belong to processes whose clocks go on together. */
export const shareTime = (dbs: readonly object[]): boolean =>
  new Set(dbs.map((db) => (simulatedSurroundingsOf(db) ?? systemSurroundings).timeline)).size === 1;

const systemSurroundings: Surroundings = {
  clock: systemClock,
  get processName() {
    const host = hostname()
      .replaceAll(/[^\w.-]/g, '_')
      .slice(0, 64);
    return `${host}:${String(process.pid)}`;
  },
  timeline: 'real',
  over: new AbortController().signal,
};
