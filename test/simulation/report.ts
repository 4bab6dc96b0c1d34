import type { Violation } from '../faults/verdict.js';
import { seenIn } from './judges/sometimes.js';
import { SOMETIMES } from './judges/sometimes-list.js';
import type { Sometimes } from './judges/sometimes-list.js';
import type { RunResult } from './run-plan.js';

/** The figures of many runs. */
export class Report {
  readonly #seen = new Map<Sometimes, number>(SOMETIMES.map((what) => [what, 0]));
  runs = 0;
  grants = 0;
  versions = 0;
  requests = 0;
  faults = 0;
  simulatedMs = 0;
  violations = 0;

  take(result: RunResult): void {
    const { evidence, grants, versions, violations } = result;
    const { history, plan, tookMs } = evidence;
    this.runs += 1;
    this.grants += grantsIn(result) + grants.length;
    this.versions += versions;
    this.requests += history.workers.flat().filter(({ type }) => type === 'asked').length;
    this.faults += plan.faults.length;
    this.simulatedMs += tookMs;
    this.violations += violations.length;
    for (const what of seenIn(evidence, result)) this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }

  /** In how many runs each of them happened. */
  get seen(): ReadonlyMap<Sometimes, number> {
    return this.#seen;
  }

  get neverSeen(): readonly Sometimes[] {
    return SOMETIMES.filter((what) => this.#seen.get(what) === 0);
  }

  /** @param tookMs - In real time. */
  lines(tookMs: number): readonly string[] {
    const hours = this.simulatedMs / 3_600_000;
    const minutes = tookMs / 60_000;
    return [
      `${this.runs} runs, ${this.faults} faults, ${this.requests} requests, ${this.grants} grants, ${this.versions} versions`,
      `${hours.toFixed(2)} simulated hours in ${(tookMs / 1_000).toFixed(0)} s: ${(this.simulatedMs / tookMs).toFixed(0)} times real time`,
      `${(hours / minutes).toFixed(2)} simulated hours and ${(this.grants / minutes).toFixed(0)} grants a minute`,
    ];
  }
}

/** The holds of a quorum, which are no grants of one replica set. */
const grantsIn = ({ evidence }: RunResult): number => {
  const quorum = evidence.history.workers.flatMap((lines) => {
    const asks = new Set(
      lines.flatMap((line) => (line.type === 'asked' && line.lock.startsWith('quorum-') ? [line.ask] : [])),
    );
    return lines.filter((line) => line.type === 'granted' && asks.has(line.ask));
  });
  return quorum.length;
};

export const inWords = ({ checker, invariant, what }: Violation): string =>
  `${invariant} (${checker}) ${what}`;
