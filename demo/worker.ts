import { Child } from '../lab/processes/child.js';
import { fromSources } from '../lab/processes/program.js';
import type { Report } from './reporter.js';

/** The clock that the processes share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

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
    let askedMs = 0;
    const onLine = ({ line, atNs }: Report): void => {
      const atMs = Number(atNs) / 1e6;
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
    };
    const program = fromSources('examples/mutex.ts', new URL('reporter.ts', import.meta.url));
    const child = new Child<never, Report>(program, { env: server, onLine });
    this.name = name;
    this.pid = child.pid;
    this.kill = () => {
      child.signal('SIGKILL');
    };
    this.ended = child.ended.then(({ code, signal }) => {
      process.stderr.write(child.stderr);
      return code === null ? String(signal) : `exit code ${code}`;
    });
  }
}
