import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it } from 'vitest';

const ownerProcess = fileURLToPath(new URL('../../lab/mongo-server/owner-process.ts', import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-owner-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, maxRetries: 5 });
});

/** Runs a process that starts a mongod, and ends this process in the given way. Returns the port of the mongod. */
async function endOwner(end: 'throw' | 'exit' | NodeJS.Signals): Promise<number> {
  const owner = spawn(process.execPath, ['--import', 'tsx', ownerProcess, end], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // A killed owner cannot remove the data of its server, so the data goes to a folder that this test removes.
    env: { ...process.env, TMPDIR: folder },
  });
  const closed = once(owner, 'close');
  for await (const line of createInterface(owner.stdout)) {
    const port = /^port (\d+)$/.exec(line)?.[1];
    if (port === undefined) continue;
    if (end !== 'throw' && end !== 'exit') owner.kill(end);
    await closed;
    return Number(port);
  }
  throw new Error('the owner ended without a server');
}

/** Asks by port and not by pid, because a dead process keeps its pid until its new parent has noticed the death. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

it.each(['throw', 'exit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
  'no mongod outlives the process that started it: %s',
  async (end) => {
    const port = await endOwner(end);
    await expect.poll(async () => answers(port), { timeout: 15_000 }).toBe(false);
  },
);
