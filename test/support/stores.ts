import { describe } from 'vitest';

/** Where tests store their locks: on a real server, or in a replica set in memory whose time is virtual. */
export type Store = 'server' | 'memory';

export const STORE_VARIABLE = 'LEASEHOLD_STORE';

export function storeOf(text: string | undefined): Store {
  if (text === undefined || text === '' || text === 'server') return 'server';
  if (text === 'memory') return 'memory';
  throw new Error(`${STORE_VARIABLE} must be server or memory, got ${text}`);
}

export const isSimulated = storeOf(process.env[STORE_VARIABLE]) === 'memory';

/**
 * Tests that run on a real server only.
 *
 * @param _why - What a replica set in memory does not have. docs/guarantees.md tells it to readers.
 */
export const onServers = (_why: string): typeof describe.skip => (isSimulated ? describe.skip : describe);
