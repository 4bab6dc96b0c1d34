import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { EPOCH_PACES } from '../../faults/workload/bursts.js';
import type { StoredVersion } from '../../../src/testing/index.js';
import type { History, RunLine } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import { setsOf } from '../plan/plan.js';
import type { Plan } from '../plan/plan.js';
import { CommandLog } from './command-log.js';
import { everyMsOf } from './job-runner.js';
import type { JobNotes } from './job-runner.js';
import { MemoryJournal } from './memory-journal.js';
import { Nemesis } from './nemesis.js';
import { SharedSet } from './shared-set.js';
import type { ShownWords } from './silent-streams.js';
import { nsOf } from './simulated-time.js';
import { SimulatedWorker } from './simulated-worker.js';
import type { BuildOf } from './simulated-worker.js';
import { Wire } from './wire.js';

/** What is left of a run, for the judges. */
export interface Evidence {
  readonly plan: Plan;
  readonly history: History;
  /** The versions of all documents, by replica set. */
  readonly versions: readonly (readonly StoredVersion[])[];
  /** The sets in memory at the end, by lock. */
  readonly memory: ReadonlyMap<string, readonly string[]>;
  readonly jobs: JobNotes;
  readonly commands: CommandLog;
  /** The requests that came twice, as text. */
  readonly doubled: readonly string[];
  /** What change streams of the first replica set have shown. */
  readonly shown: readonly ShownWords[];
  /** The numbers of the workers, by what the leases of their quorums name them. */
  readonly quorumProcesses: ReadonlyMap<string, number>;
  /** How many cursors the members have open at the end. */
  readonly openCursors: number;
  /** By how much the wall clock is ahead of the clock of the journals. */
  readonly aheadMs: number;
  /** The wall clock when all leases were over. */
  readonly endMs: number;
  /** How long the run has taken, in ms of virtual time. */
  readonly tookMs: number;
  /** What the world itself has found. */
  readonly violations: readonly Violation[];
}

/**
 * How long processes may take, after the faults and the longest pause of an actor, until each has got a lock; and then until
 * all have ended.
 */
const GRANT_BOUND_MS = 60_000;
const END_BOUND_MS = 60_000;

const STEP_MS = 250;

/** The time between two instants of the job, where the plan has no slower pace. */
const JOB_EVERY_MS = 250;

/** Some processes that share replica sets in virtual time. One world at a time, because it counts unhandled rejections. */
export class World {
  readonly #plan: Plan;
  readonly #sets: readonly MemoryReplicaSet[];
  readonly #wires: readonly Wire[];
  readonly #workers: readonly SimulatedWorker[];
  readonly #journal: MemoryJournal<RunLine>;
  readonly #memory = new SharedSet();
  readonly #jobs: JobNotes;
  readonly #commands = new CommandLog();
  readonly #violations: Violation[] = [];
  /** The wall clock of the beginning. */
  readonly #epochMs: number;
  #isStopping = false;
  #elapsedMs = 0;

  constructor(plan: Plan, buildOf?: BuildOf) {
    this.#plan = plan;
    const { schedule = 'fixed-rate', paceMs = 0 } = plan;
    const everyMs = everyMsOf(schedule, Math.max(JOB_EVERY_MS, paceMs));
    this.#jobs = { runs: [], missed: [], calls: [], terms: [], everyMs, schedule };
    const first = new MemoryReplicaSet({ time: 'virtual', seed: plan.seed });
    this.#sets = [
      first,
      ...Array.from(
        { length: setsOf(plan) - 1 },
        (_, index) => new MemoryReplicaSet({ time: first, seed: (plan.seed + index + 1) % 2 ** 32 }),
      ),
    ];
    this.#epochMs = first.now().getTime();
    this.#journal = new MemoryJournal(() => nsOf(this.#nowMs));
    this.#wires = this.#sets.map((set) => new Wire(set));
    const world = {
      ...{
        plan,
        sets: this.#sets,
        wires: this.#wires,
        memory: this.#memory,
        jobs: this.#jobs,
        commands: this.#commands,
      },
      ...(buildOf === undefined ? {} : { buildOf }),
      isStopping: () => this.#isStopping,
    };
    this.#workers = plan.processes.map((process, number) => new SimulatedWorker(number, process, world));
  }

  async run(): Promise<Evidence> {
    const onRejection = (error: unknown): void => {
      const what = `unhandled rejection: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
      this.#violations.push({ invariant: 'R2', checker: 'run', what });
    };
    process.on('unhandledRejection', onRejection);
    try {
      for (const worker of this.#workers) void worker.run();
      await this.#endure();
      await this.#comeToRest();
      return await this.#evidence();
    } finally {
      process.off('unhandledRejection', onRejection);
      await this.#close();
    }
  }

  async #endure(): Promise<void> {
    const { faults, durationMs } = this.#plan;
    const nemesis = new Nemesis({
      ...{ sets: this.#sets, wires: this.#wires, workers: this.#workers, journal: this.#journal },
    });
    for (const { atMs, act } of nemesis.deedsOf(faults)) {
      await this.#advance(Math.max(0, atMs - this.#elapsedMs));
      act();
    }
    await this.#advance(Math.max(0, durationMs - this.#elapsedMs));
    this.#journal.write({ type: 'healed' });
  }

  /** Lets the processes release everything and end by themselves. */
  async #comeToRest(): Promise<void> {
    const healedMs = this.#nowMs;
    const asking = this.#alive.filter(({ asksForLocks }) => asksForLocks);
    const hasJobs = this.#alive.some(({ number }) => (this.#plan.processes[number]?.jobs ?? 0) > 0);
    const isRun = (): boolean => !hasJobs || this.#jobs.runs.some(({ fromMs }) => fromMs > healedMs);
    const isServed = ({ journal }: SimulatedWorker): boolean => {
      const last = journal.lines.findLast(({ type }) => type === 'granted');
      return last !== undefined && Number(last.atNs) / 1e6 > healedMs;
    };
    await this.#until(this.#longestPauseMs + GRANT_BOUND_MS, () => asking.every(isServed) && isRun());
    if (!isRun()) this.#report('no job runs after the end of the faults');
    for (const worker of asking) {
      if (!isServed(worker))
        this.#report(`worker ${worker.number} is granted nothing after the end of the faults`);
    }
    this.#journal.write({ type: 'stopping' });
    this.#isStopping = true;
    await this.#until(END_BOUND_MS, () => this.#alive.every(({ hasEnded }) => hasEnded));
    for (const { number, hasEnded } of this.#alive) {
      if (!hasEnded) this.#report(`worker ${number} does not come to an end`);
    }
  }

  get #longestPauseMs(): number {
    const { processes, paceMs = 0 } = this.#plan;
    return Math.max(2 * EPOCH_PACES * paceMs, ...processes.map(({ idleMs }) => idleMs));
  }

  get #alive(): readonly SimulatedWorker[] {
    return this.#workers.filter(({ isKilled }) => !isKilled);
  }

  async #evidence(): Promise<Evidence> {
    const { leaseMs, clockAllowanceMs } = this.#plan;
    const tookMs = this.#elapsedMs;
    // The leases of processes that crashed are over then, on every clock.
    await this.#advance(2 * leaseMs + clockAllowanceMs + STEP_MS);
    const [first] = this.#sets;
    if (first === undefined) throw new Error('a world has a replica set');
    return {
      plan: this.#plan,
      history: { workers: this.#workers.map(({ journal }) => journal.lines), run: this.#journal.lines },
      versions: this.#sets.map(({ versions }) => versions),
      ...{ memory: this.#memory.values, jobs: this.#jobs, commands: this.#commands },
      doubled: this.#wires.flatMap(({ doubled }) => doubled),
      shown: this.#wires[0]?.streams.shown ?? [],
      quorumProcesses: new Map(
        this.#workers.flatMap(({ number, quorumProcess: name }) =>
          name === undefined ? [] : [[name, number] as const],
        ),
      ),
      openCursors: this.#sets.reduce((sum, set) => sum + set.openCursors, 0),
      ...{ aheadMs: this.#epochMs - START_MS, endMs: first.now().getTime(), tookMs },
      violations: this.#violations,
    };
  }

  /** On the clock of the journals. */
  get #nowMs(): number {
    return START_MS + this.#elapsedMs;
  }

  async #advance(ms: number): Promise<void> {
    await this.#sets[0]?.advance(ms);
    this.#elapsedMs += ms;
  }

  async #until(boundMs: number, isDone: () => boolean): Promise<void> {
    for (let ms = 0; !isDone() && ms < boundMs; ms += STEP_MS) await this.#advance(STEP_MS);
  }

  #report(what: string): void {
    this.#violations.push({ invariant: 'L1', checker: 'run', what });
  }

  async #close(): Promise<void> {
    for (const set of [...this.#sets].reverse()) await set.close();
  }
}

/** The monotonic clock of the simulation at the beginning. */
const START_MS = 1_000;
