import { EventEmitter } from 'node:events';
import pc from 'picocolors';
import { WorkerProcess, monotonicMs, sleep } from '../benchmarks/worker-process.js';
import type { Ending } from '../benchmarks/worker-process.js';
import { History } from './history.js';
import type { HoldRecord } from './history.js';
import type { Order, Report } from './messages.js';

const COLOURS = [pc.green, pc.cyan, pc.yellow, pc.magenta] as const;
const NAMES = ['A', 'B', 'C', 'D'] as const;

/** How long the workers have to end by themselves. */
const FAREWELL_MS = 8_000;

interface Worker {
  readonly name: string;
  readonly process: WorkerProcess<Order, Report>;
  isReady: boolean;
  isDoomed: boolean;
}

/** The worker processes, and everything that they have reported. */
export class Crew {
  readonly history = new History();
  /** Rejects as soon as a worker fails, or ends though nobody told it to. */
  readonly failure: Promise<never>;
  /** How the workers learn of their grants. */
  wakeups = 'nobody';
  readonly #workers: readonly Worker[];
  readonly #news = new EventEmitter();
  #fail!: (error: Error) => void;
  #nextReport!: Promise<void>;
  #announceReport: () => void = () => undefined;
  #isEnding = false;

  constructor() {
    this.failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failure.catch(() => undefined);
    this.#awaitReport();
    this.#workers = NAMES.map((name) => this.#start(name));
  }

  get size(): number {
    return this.#workers.length;
  }

  /** Who is who, for people: `A pid 4711  B pid 4712 …` */
  get roster(): string {
    return this.#workers
      .map(({ name, process }) => `${paint(name)} ${pc.dim(`pid ${process.pid}`)}`)
      .join('   ');
  }

  async connect(uri: string, collectionName: string, leaseMs: number): Promise<void> {
    this.#order({ type: 'connect', uri, collectionName, leaseMs });
    await this.until(() => (this.#workers.every(({ isReady }) => isReady) ? true : undefined), 30_000);
  }

  pace(holdMs: number, thinkMs: number): void {
    this.#order({ type: 'pace', holdMs, thinkMs });
  }

  /** Has this worker keep its next hold for ever; resolves when it has it. */
  async keep(name: string): Promise<HoldRecord> {
    this.#find(name).process.order({ type: 'keep' });
    return this.until(() => this.history.holds.find(({ worker, keeps }) => worker === name && keeps), 10_000);
  }

  pidOf(name: string): number {
    return this.#find(name).process.pid;
  }

  /** Kills without a warning; resolves with the time of the kill when the process is gone. */
  async kill(name: string): Promise<number> {
    const victim = this.#find(name);
    victim.isDoomed = true;
    const killedMs = monotonicMs();
    victim.process.kill();
    const { atMs } = await victim.process.ended;
    this.history.died(name, atMs);
    return killedMs;
  }

  /** Calls `hear` with every report of this worker, until the function that it returns is called. */
  listen(name: string, hear: (report: Report) => void): () => void {
    const listener = (from: string, report: Report): void => {
      if (from === name) hear(report);
    };
    this.#news.on('report', listener);
    return () => {
      this.#news.off('report', listener);
    };
  }

  /** Resolves with what `find` gives, asked anew at every report. */
  async until<T>(find: () => T | undefined, boundMs: number): Promise<T> {
    const deadlineMs = monotonicMs() + boundMs;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (monotonicMs() > deadlineMs)
        throw new Error(`what was waited for did not happen in ${boundMs / 1000} s`);
      await Promise.race([this.failure, this.#nextReport, sleep(100)]);
    }
  }

  /** Tells all to end; resolves with those that did not end as they should have. */
  async dismiss(): Promise<readonly string[]> {
    this.#isEnding = true;
    this.#order({ type: 'stop' });
    const overdue = setTimeout(() => void this.killAll(), FAREWELL_MS);
    const endings = await this.#allEnded();
    clearTimeout(overdue);
    return this.#workers.flatMap(({ name, isDoomed }, index) => {
      const ending = endings[index];
      const isRight = isDoomed ? ending?.signal === 'SIGKILL' : ending?.code === 0;
      return isRight ? [] : [`${name} ended with ${howEnded(ending)}`];
    });
  }

  /** Leaves no process behind, in whatever state they are. */
  async killAll(): Promise<void> {
    this.#isEnding = true;
    for (const { process } of this.#workers) process.kill();
    await this.#allEnded();
  }

  #allEnded(): Promise<readonly Ending[]> {
    return Promise.all(this.#workers.map(({ process }) => process.ended));
  }

  #start(name: string): Worker {
    const worker: Worker = {
      name,
      process: new WorkerProcess(new URL('worker.ts', import.meta.url)),
      isReady: false,
      isDoomed: false,
    };
    worker.process.onReport((report) => {
      this.#hear(worker, report);
    });
    void worker.process.ended.then((ending) => {
      if (!this.#isEnding && !worker.isDoomed)
        this.#fail(new Error(`worker ${name} ended with ${howEnded(ending)}`));
    }, this.#fail);
    return worker;
  }

  #hear(worker: Worker, report: Report): void {
    switch (report.type) {
      case 'ready':
        worker.isReady = true;
        break;
      case 'wakeups':
        this.wakeups = report.mode.replace('-', ' ');
        break;
      case 'granted':
        this.history.granted(worker.name, report);
        break;
      case 'ended':
        this.history.ended(worker.name, report);
        break;
      case 'extended':
        break;
      case 'failed':
        this.#fail(new Error(`worker ${worker.name} failed: ${report.message}`));
    }
    this.#news.emit('report', worker.name, report);
    this.#announceReport();
    this.#awaitReport();
  }

  #awaitReport(): void {
    this.#nextReport = new Promise((resolve) => {
      this.#announceReport = resolve;
    });
  }

  #order(order: Order): void {
    for (const { process } of this.#workers) process.order(order);
  }

  #find(name: string): Worker {
    const worker = this.#workers.find((candidate) => candidate.name === name);
    if (worker === undefined) throw new Error(`there is no worker ${name}`);
    return worker;
  }
}

/** The name of a worker in its colour. */
export function paint(name: string): string {
  const index = NAMES.findIndex((candidate) => candidate === name);
  return pc.bold((COLOURS[index] ?? pc.white)(name));
}

const howEnded = (ending: Ending | undefined): string =>
  ending?.signal ?? `exit code ${ending?.code ?? 'unknown'}`;
