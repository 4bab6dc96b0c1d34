import { relative } from 'node:path';

import { expect } from 'vitest';

import { breadth } from './breadth.js';
import { isSimulated } from './on-servers.js';

/** What random tests draw from: `LEASEHOLD_SEED`, to see a run again, else another one every time. Printed. */
export function drawSeed(what: string): number {
  const given = process.env['LEASEHOLD_SEED'] ?? '';
  const seed = given === '' ? Math.floor(Math.random() * 0x7f_ff_ff_ff) : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`LEASEHOLD_SEED must be an integer, got ${given}`);
  const { testPath } = expect.getState();
  const file = testPath === undefined ? '' : relative(process.cwd(), testPath);
  const project = isSimulated ? ' --project simulation' : '';
  console.log(`${what}: LEASEHOLD_SEED=${seed} npx vitest run --mode ${breadth}${project} ${file}`);
  return seed;
}
