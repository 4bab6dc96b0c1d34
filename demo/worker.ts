import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Report } from './reporter.js';

/** One hold as its process saw it, in milliseconds of the clock that the processes share. */
export interface Hold {
  readonly worker: Worker;
  readonly token: number;
  readonly askedMs: number;
  readonly grantedMs: number;
  /** When its process called release, or died; infinite before that. */
  endedMs: number;
  wasKilled: boolean;
}

/** A process that runs the example. Keeps `holds` in their order, and calls `onReport` after each change. */
export class Worker {
  readonly name: string;
  readonly pid: number;
  readonly kill: () => void;
  /** How the process ended: `exit code 0`, `SIGKILL`. */
  readonly ended: Promise<string>;

  constructor(name: string, server: NodeJS.ProcessEnv, holds: Hold[], onReport: () => void) {
    const child = fork('examples/mutex.ts', {
      cwd: fileURLToPath(new URL('../', import.meta.url)),
      execArgv: ['--import', 'tsx', '--import', new URL('reporter.ts', import.meta.url).href],
      env: { ...process.env, ...server },
    });
    this.name = name;
    this.pid = child.pid ?? 0;
    this.kill = () => child.kill('SIGKILL');
    // The last reports may come after the exit, and before the channel closes.
    const closed = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
    this.ended = closed.then(([[code, signal]]) =>
      code === null ? String(signal) : `exit code ${String(code)}`,
    );
    let askedMs = 0;
    child.on('message', (report) => {
      const [line, atMs] = report as Report;
      const [verb, token] = line.split(' ');
      if (verb === 'asks') askedMs = atMs;
      const hold = { worker: this, token: Number(token), askedMs, grantedMs: atMs };
      if (verb === 'holds') holds.push({ ...hold, endedMs: Infinity, wasKilled: false });
      const ended = holds.find(
        (each) => verb === 'releases' && each.worker === this && each.token === hold.token,
      );
      if (ended !== undefined) ended.endedMs = atMs;
      holds.sort((a, b) => a.grantedMs - b.grantedMs);
      onReport();
    });
  }
}
