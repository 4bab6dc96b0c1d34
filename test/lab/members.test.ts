import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, it } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { isListening } from '../../lab/ports.js';
import { Child } from '../../lab/processes/child.js';
import { fromSources } from '../../lab/processes/program.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-owner-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** Runs a process that starts a mongod, and ends this process in the given way. Returns the port of the mongod. */
async function endOwner(end: 'throw' | 'exit' | NodeJS.Signals): Promise<number> {
  await using owner = new Child<never, { readonly says: 'port'; readonly port: number }>(
    [...fromSources('lab/mongo-server/owner-process.ts'), end],
    // Nobody is left to remove the data of a server whose owner was killed, so it goes where this test cleans up.
    { env: { TMPDIR: folder } },
  );
  const { port } = await owner.heard('port');
  if (end !== 'throw' && end !== 'exit') owner.signal(end);
  await owner.ended;
  return port;
}

it.each(['throw', 'exit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
  'no mongod outlives the process that started it: %s',
  async (end) => {
    const port = await endOwner(end);
    await eventually('nobody listens', async () => !(await isListening(port)));
  },
);
