import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';

import type { MongoMemoryServer } from 'mongodb-memory-server';

import { endWithThisProcess } from '../processes/end-with-this-process.js';

/** One mongod process of a server that was started here. */
export interface Member {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly pid: number;
}

interface RunningMember extends Member {
  readonly mongod: ChildProcess;
  /** It ended in good order. */
  readonly leave: () => void;
}

export function watchMember(server: MongoMemoryServer): RunningMember {
  const info = server.instanceInfo;
  const mongod = info?.instance.mongodProcess;
  if (info === undefined || mongod?.pid === undefined) throw new Error('leasehold: mongod has no process');
  const dataFolder = info.dbPath;
  const leave = endWithThisProcess(() => {
    mongod.kill('SIGKILL');
    rmSync(dataFolder, { recursive: true, force: true, maxRetries: 3 });
  });
  return { host: '127.0.0.1', port: info.port, pid: mongod.pid, mongod, leave };
}

/**
 * Kills without a farewell: the data is thrown away, a clean shutdown takes a second or two, and a member
 * that a test has paused with SIGSTOP would never answer one.
 */
export async function killMember(member: RunningMember): Promise<void> {
  await killProcess(member.mongod);
  member.leave();
}

/** Resolves when it is gone. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}
