import { hostname } from 'node:os';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';

/**
 * Everything that differs between runs of a process: the time, the turns of the event loop, chance, and the process
 * name.
 */
export interface Surroundings {
  readonly clock: Clock;
  /** `host:pid`, for people to read. */
  readonly processName: string;
}

/** The key under which a simulated `Db` has the surroundings of its process. */
export const SURROUNDINGS: unique symbol = Symbol.for('leasehold.surroundings') as never;

/** The surroundings of the process that uses this database: of the simulated process, or of the real one. */
export function surroundingsOf(db: object | undefined): Surroundings {
  const { [SURROUNDINGS]: simulated } = (db ?? {}) as { readonly [SURROUNDINGS]?: Surroundings };
  return simulated ?? systemSurroundings;
}

const systemSurroundings: Surroundings = {
  clock: systemClock,
  get processName() {
    const host = hostname()
      .replaceAll(/[^\w.-]/g, '_')
      .slice(0, 64);
    return `${host}:${String(process.pid)}`;
  },
};
