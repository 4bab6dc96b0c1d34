/** Where tests store their locks: on a real server, or in a replica set in memory whose time is virtual. */
export type Store = 'server' | 'memory';

export const STORE_VARIABLE = 'LEASEHOLD_STORE';

/** The project of Vitest whose tests run in memory. */
export const SIMULATION = 'simulation';

export function storeOf(text: string | undefined): Store {
  if (text === undefined || text === '' || text === 'server') return 'server';
  if (text === 'memory') return 'memory';
  throw new Error(`${STORE_VARIABLE} must be server or memory, got ${text}`);
}
