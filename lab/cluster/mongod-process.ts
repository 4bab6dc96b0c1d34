import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

import { killProcess } from '../mongo-server/members.js';
import { allThreadsStand } from '../processes/stand-still.js';

export interface MongodPlan {
  readonly binary: string;
  readonly setName: string;
  readonly port: number;
  readonly dataFolder: string;
  readonly logFile: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A mongod that can be killed and started again on the same port and data, and stopped and continued. */
export class MongodProcess {
  readonly plan: MongodPlan;
  #mongod: ChildProcess | undefined;
  #guard: ChildProcess | undefined;
  #isStopped = false;

  constructor(plan: MongodPlan) {
    this.plan = plan;
  }

  get isRunning(): boolean {
    return this.#mongod !== undefined && hasNotEnded(this.#mongod);
  }

  get isStopped(): boolean {
    return this.#isStopped && this.isRunning;
  }

  /** Of the last start. */
  get pid(): number {
    return this.#mongod?.pid ?? 0;
  }

  start(): void {
    if (this.isRunning) return;
    mkdirSync(this.plan.dataFolder, { recursive: true });
    const env = { ...process.env, ...this.plan.environment };
    const mongod = spawn(this.plan.binary, mongodArguments(this.plan), { stdio: 'ignore', env });
    // A binary that cannot be started has ended: `exitCode` stays null, `pid` undefined.
    mongod.on('error', () => undefined);
    this.#mongod = mongod;
    this.#isStopped = false;
    this.#guard = guardOf(mongod);
  }

  async kill(): Promise<void> {
    if (this.#mongod === undefined) return;
    await killProcess(this.#mongod);
    if (this.#guard !== undefined) await killProcess(this.#guard);
  }

  killNow(): void {
    this.#mongod?.kill('SIGKILL');
    this.#guard?.kill('SIGKILL');
  }

  /** When it returns, all its threads stand still: an answer may otherwise still come. */
  stop(): void {
    if (!this.isRunning) return;
    this.#mongod?.kill('SIGSTOP');
    this.#isStopped = true;
    const endMs = performance.now() + STOP_MS;
    while (!allThreadsStand(this.pid)) {
      if (performance.now() > endMs) throw new Error(`process ${this.pid} does not stand still`);
      Atomics.wait(SLEEP, 0, 0, 1);
    }
  }

  continue(): void {
    this.#mongod?.kill('SIGCONT');
    this.#isStopped = false;
  }

  /** The last lines that it logged. */
  async lastWords(): Promise<string> {
    const log = await readFile(this.plan.logFile, 'utf8').catch(() => '');
    return log.trim().split('\n').slice(-5).join('\n');
  }
}

/** A thread that waits for a slow disk stands still only when the disk has answered. */
const STOP_MS = 60_000;

/** To sleep without returning to the event loop, so that the threads that are to stop get the processor. */
const SLEEP = new Int32Array(new SharedArrayBuffer(4));

const hasNotEnded = (child: ChildProcess): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

const PARAMETERS: readonly string[] = [
  'diagnosticDataCollectionEnabled=false',
  'enableTestCommands=1',
  // Whatever may be purged is, and not only once a minute.
  'ttlMonitorSleepSecs=1',
  // A transaction of a process that was killed keeps others from what it has written for as long as this.
  'transactionLifetimeLimitSeconds=5',
];

function mongodArguments(plan: MongodPlan): readonly string[] {
  return [
    ...['--replSet', plan.setName],
    ...['--dbpath', plan.dataFolder],
    ...['--bind_ip', '127.0.0.1', '--port', String(plan.port), '--nounixsocket'],
    ...['--storageEngine', 'wiredTiger', '--wiredTigerCacheSizeGB', '0.25'],
    ...['--logpath', plan.logFile, '--logappend'],
    // Else members compress what they send one another, which no rule of a proxy could read.
    ...['--networkMessageCompressors', 'disabled'],
    ...PARAMETERS.flatMap((parameter) => ['--setParameter', parameter]),
  ];
}

/** Kills the mongod when this process ends in a way that leaves it no time for that: its end of the pipe closes then. */
function guardOf(mongod: ChildProcess): ChildProcess | undefined {
  const { pid } = mongod;
  if (pid === undefined) return undefined;
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$0"', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', () => undefined);
  // The number may be given to another process then.
  mongod.once('exit', () => guard.kill('SIGKILL'));
  return guard;
}
