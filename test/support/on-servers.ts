import { describe, it } from 'vitest';

import { STORE_VARIABLE, storeOf } from './stores.js';

export const isSimulated = storeOf(process.env[STORE_VARIABLE]) === 'memory';

/** Tests that run on a real server only. docs/guarantees.md lists what a replica set in memory does not have. */
export const describeOnServers: typeof describe.skip = isSimulated ? describe.skip : describe;
export const itOnServers: typeof it.skip = isSimulated ? it.skip : it;
