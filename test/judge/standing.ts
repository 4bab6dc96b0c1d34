import type { History } from '../faults/history.js';
import { overlapNs, overlaps } from './overlap.js';
import type { Span } from './overlap.js';
import { clockOf } from './run-clock.js';
import type { RunClock } from './run-clock.js';

/** The times in which the machine did not let this worker run, each written as a number by `ns`. */
export const starvationIn = (lines: History['workers'][number], ns: (atNs: string) => number): Span[] =>
  lines.flatMap((line) =>
    line.type === 'starved' ? [{ fromNs: ns(line.sinceNs), untilNs: ns(line.atNs) }] : [],
  );

/** The times in which workers could not run: their processes were paused, blocked, or killed, or the machine was busy. */
export class Standing {
  readonly #spans = new Map<number, Span[]>();
  readonly #starved: readonly (readonly Span[])[];
  readonly #killed = new Set<number>();

  constructor(history: History, clock: RunClock = clockOf(history)) {
    this.#starved = history.workers.map((lines) => starvationIn(lines, (atNs) => clock.ns(atNs)));
    for (const line of history.run) {
      if (!('worker' in line)) continue;
      const ns = clock.ns(line.atNs);
      if (line.type === 'worker goes on') this.#end(line.worker, ns);
      else this.#begin(line.worker, ns);
      if (line.type === 'worker killed') this.#killed.add(line.worker);
    }
  }

  isKilled(worker: number): boolean {
    return this.#killed.has(worker);
  }

  /** Whether this worker could not run at some time between the two. */
  stood(worker: number, fromNs: number, untilNs: number): boolean {
    return overlaps(this.#spans.get(worker) ?? [], fromNs, untilNs);
  }

  /** How long the machine did not let this worker run between the two. */
  starvedNs(worker: number, fromNs: number, untilNs: number): number {
    return overlapNs(this.#starved[worker] ?? [], fromNs, untilNs);
  }

  #begin(worker: number, fromNs: number): void {
    const spans = this.#spans.get(worker) ?? [];
    this.#spans.set(worker, [...spans, { fromNs, untilNs: Infinity }]);
  }

  #end(worker: number, untilNs: number): void {
    for (const span of this.#spans.get(worker) ?? []) span.untilNs = Math.min(span.untilNs, untilNs);
  }
}
