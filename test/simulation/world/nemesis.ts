import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import type { RunLine } from '../../faults/history.js';
import { FAULT_KINDS } from '../plan/plan.js';
import type { FaultStep } from '../plan/plan.js';
import type { MemoryJournal } from './memory-journal.js';
import type { SimulatedWorker } from './simulated-worker.js';

/** The parts of a world that faults befall. */
export interface Victims {
  readonly sets: readonly MemoryReplicaSet[];
  readonly workers: readonly SimulatedWorker[];
  readonly journal: MemoryJournal<RunLine>;
}

/** Something of the nemesis that happens at an instant. */
export interface Deed {
  readonly atMs: number;
  readonly act: () => void;
}

/** Lets the faults of a plan happen, and undoes them. Faults of one kind may overlap: the last one of them ends it. */
export class Nemesis {
  readonly #victims: Victims;
  /** How many faults of a kind a process or a set suffers at the moment. */
  readonly #active = new Map<string, number>();

  constructor(victims: Victims) {
    this.#victims = victims;
  }

  /** The deeds for these faults, in order. */
  deedsOf(steps: readonly FaultStep[]): readonly Deed[] {
    const deeds = steps.flatMap((step): readonly Deed[] => [
      {
        atMs: step.atMs,
        act: () => {
          this.#begin(step);
        },
      },
      {
        atMs: step.atMs + step.forMs,
        act: () => {
          this.#end(step);
        },
      },
    ]);
    return deeds.toSorted((a, b) => a.atMs - b.atMs);
  }

  #begin(step: FaultStep): void {
    const { kind, forMs, amount } = step;
    const set = this.#setOf(step);
    const worker = this.#workerOf(step);
    if (set === undefined || worker === undefined) return;
    this.#note('fault begins', step);
    const isFirst = this.#count(step, 1) === 1;
    switch (kind) {
      case 'all members stop':
        if (isFirst) set.stop();
        break;
      case 'the primary steps down':
        set.stepDown({ electionMs: forMs });
        break;
      case 'the primary is cut off from the other members':
        set.stepDown({ electionMs: forMs, losesUnacknowledged: true });
        break;
      case 'the clock of the primary is moved':
        set.skewClock(amount);
        break;
      case 'replies are late':
        set.delayReplies(amount);
        break;
      case 'replies are lost':
        set.loseReplies(amount);
        break;
      case 'change streams break':
        set.breakStreams();
        break;
      case 'a process stands still':
        if (isFirst) this.#freeze(worker);
        break;
      case 'a process is cut off':
        if (isFirst)
          forEachDb(this.#victims, worker, (each, db) => {
            each.cut(db);
          });
        break;
      case 'a process crashes':
        this.#crash(worker);
        break;
    }
  }

  #end(step: FaultStep): void {
    const set = this.#setOf(step);
    const worker = this.#workerOf(step);
    if (set === undefined || worker === undefined) return;
    this.#note('fault ends', step);
    if (this.#count(step, -1) > 0) return;
    const { kind } = step;
    if (kind === 'all members stop') set.start();
    if (kind === 'replies are late') set.delayReplies(0);
    if (kind === 'replies are lost') set.loseReplies(0);
    if (kind === 'a process stands still') this.#thaw(worker);
    if (kind === 'a process is cut off' && !worker.isKilled) {
      forEachDb(this.#victims, worker, (each, db) => {
        each.heal(db);
      });
    }
  }

  #freeze(worker: SimulatedWorker): void {
    if (worker.isKilled) return;
    this.#victims.journal.write({ type: 'worker stands', worker: worker.number });
    forEachDb(this.#victims, worker, (set, db) => {
      set.freeze(db);
    });
  }

  #thaw(worker: SimulatedWorker): void {
    if (worker.isKilled) return;
    forEachDb(this.#victims, worker, (set, db) => {
      set.thaw(db);
    });
    this.#victims.journal.write({ type: 'worker goes on', worker: worker.number });
  }

  /** Nothing of this process goes on, and nobody hears of it again. */
  #crash(worker: SimulatedWorker): void {
    if (worker.isKilled) return;
    worker.isKilled = true;
    this.#victims.journal.write({ type: 'worker killed', worker: worker.number });
    forEachDb(this.#victims, worker, (set, db) => {
      set.freeze(db);
      set.cut(db);
    });
  }

  #setOf({ set }: FaultStep): MemoryReplicaSet | undefined {
    return this.#victims.sets[set % this.#victims.sets.length];
  }

  #workerOf({ victim }: FaultStep): SimulatedWorker | undefined {
    return this.#victims.workers[victim % this.#victims.workers.length];
  }

  #note(type: 'fault begins' | 'fault ends', { kind }: FaultStep): void {
    this.#victims.journal.write({ type, fault: FAULT_KINDS.indexOf(kind), what: kind });
  }

  #count(step: FaultStep, change: number): number {
    const { kind } = step;
    const isOfProcess = kind.startsWith('a process');
    const key = `${kind} ${String(isOfProcess ? step.victim % this.#victims.workers.length : step.set % this.#victims.sets.length)}`;
    const count = (this.#active.get(key) ?? 0) + change;
    this.#active.set(key, count);
    return count;
  }
}

type Db = SimulatedWorker['dbs'][number];

const forEachDb = (
  { sets }: Victims,
  { dbs }: SimulatedWorker,
  act: (set: MemoryReplicaSet, db: Db) => void,
): void => {
  for (const [index, db] of dbs.entries()) {
    const set = sets[index];
    if (set !== undefined) act(set, db);
  }
};
