import type { History } from '../faults/history.js';

const NS_PER_MS = 1_000_000;

/** CLOCK_MONOTONIC, counted from the first line of a run: small enough to be exact as a number. */
export interface RunClock {
  ns(atNs: string): number;
  /** The inverse of `ns`. */
  atNs(ns: number): bigint;
}

export function clockOf({ workers, run }: History): RunClock {
  const firstOfEach = [run, ...workers].flatMap(([first]) =>
    first === undefined ? [] : [BigInt(first.atNs)],
  );
  const startNs = firstOfEach.reduce((least, ns) => (ns < least ? ns : least), firstOfEach[0] ?? 0n);
  return {
    ns: (atNs) => Number(BigInt(atNs) - startNs),
    atNs: (ns) => startNs + BigInt(ns),
  };
}

export const msOf = (ns: number): number => ns / NS_PER_MS;

export const nsOf = (ms: number): number => ms * NS_PER_MS;

/** For people: milliseconds since the run began. */
export const inMs = (ns: number): string => `${msOf(ns).toFixed(1)} ms`;
