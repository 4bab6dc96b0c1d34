import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import type { RunLine } from '../../faults/history.js';
import { FAULT_KINDS, OTHER_FAULT_KINDS, SHARP_FAULT_KINDS } from '../plan/plan.js';
import type { FaultKind, FaultStep } from '../plan/plan.js';
import { EFFECTS } from './fault-effects.js';
import type { Target } from './fault-effects.js';
import type { MemoryJournal } from './memory-journal.js';
import type { SimulatedWorker } from './simulated-worker.js';
import type { Wire } from './wire.js';

/** The parts of a world that faults befall. */
export interface Victims {
  readonly sets: readonly MemoryReplicaSet[];
  /** The wire of each set. */
  readonly wires: readonly Wire[];
  readonly workers: readonly SimulatedWorker[];
  readonly journal: MemoryJournal<RunLine>;
}

/** Something of the nemesis that happens at an instant. */
export interface Deed {
  readonly atMs: number;
  readonly act: () => void;
}

/** The number of a kind in the journal. */
const KINDS: readonly FaultKind[] = [...FAULT_KINDS, ...SHARP_FAULT_KINDS, ...OTHER_FAULT_KINDS];

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
    const target = this.#targetOf(step);
    if (target === undefined) return;
    this.#note('fault begins', step);
    EFFECTS[step.kind].begin(target, this.#count(step, 1) === 1);
  }

  #end(step: FaultStep): void {
    const target = this.#targetOf(step);
    if (target === undefined) return;
    this.#note('fault ends', step);
    if (this.#count(step, -1) === 0) EFFECTS[step.kind].end?.(target);
  }

  #targetOf(step: FaultStep): Target | undefined {
    const { sets, wires, workers, journal } = this.#victims;
    const [set, wire] = [sets[step.set % sets.length], wires[step.set % sets.length]];
    const worker = workers[step.victim % workers.length];
    if (set === undefined || wire === undefined || worker === undefined) return undefined;
    return { step, set, wire, worker, sets, journal };
  }

  #note(type: 'fault begins' | 'fault ends', { kind, set }: FaultStep): void {
    const { excuses } = EFFECTS[kind];
    this.#victims.journal.write({
      ...{ type, fault: KINDS.indexOf(kind), what: kind, set: set % this.#victims.sets.length },
      ...(excuses === undefined ? {} : { excuses }),
    });
  }

  #count({ kind, victim, set }: FaultStep, change: number): number {
    const { sets, workers } = this.#victims;
    const number = kind.startsWith('a process') ? victim % workers.length : set % sets.length;
    const key = `${kind} ${String(number)}`;
    const count = (this.#active.get(key) ?? 0) + change;
    this.#active.set(key, count);
    return count;
  }
}
