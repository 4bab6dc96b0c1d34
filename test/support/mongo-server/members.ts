import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';

import type { MongoMemoryServer } from 'mongodb-memory-server';

/** One mongod process of a server that was started here. */
export interface Member {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly pid: number;
}

interface RunningMember extends Member {
  readonly mongod: ChildProcess;
  readonly dataFolder: string;
}

/** Every member this process has started and not yet stopped. */
const running = new Set<RunningMember>();

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function watchMember(server: MongoMemoryServer): RunningMember {
  const info = server.instanceInfo;
  const mongod = info?.instance.mongodProcess;
  if (info === undefined || mongod?.pid === undefined) throw new Error('leasehold: mongod has no process');
  const member: RunningMember = {
    host: '127.0.0.1',
    port: info.port,
    pid: mongod.pid,
    mongod,
    dataFolder: info.dbPath,
  };
  if (running.size === 0) installExitHooks();
  running.add(member);
  return member;
}

/**
 * Kills without a farewell: the data is thrown away, a clean shutdown takes a second or two, and a member
 * that a test has paused with SIGSTOP would never answer one.
 */
export async function killMember(member: RunningMember): Promise<void> {
  const { mongod } = member;
  if (mongod.exitCode === null && mongod.signalCode === null) {
    const closed = once(mongod, 'close');
    mongod.kill('SIGKILL');
    await closed;
  }
  running.delete(member);
  if (running.size === 0) removeExitHooks();
}

function installExitHooks(): void {
  process.on('exit', killAllNow);
  for (const signal of endingSignals) process.on(signal, endBySignal);
}

function removeExitHooks(): void {
  process.off('exit', killAllNow);
  for (const signal of endingSignals) process.off(signal, endBySignal);
}

function killAllNow(): void {
  for (const member of running) {
    member.mongod.kill('SIGKILL');
    rmSync(member.dataFolder, { recursive: true, force: true, maxRetries: 3 });
  }
  running.clear();
}

function endBySignal(signal: NodeJS.Signals): void {
  removeExitHooks();
  killAllNow();
  // Another listener has taken it on itself to end the process; without one, the signal's own effect is due.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}
