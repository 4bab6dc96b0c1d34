import { expect, it } from 'vitest';

import type { WorkerLine } from '../history.js';
import type { Journal } from './journal.js';
import { watchStarvation } from './starvation.js';

interface Beat {
  readonly passedMs: number;
  readonly usedMs: number;
}

/** The lines that these beats of a worker give, one after the other. */
function linesOf(beats: readonly Beat[]): readonly (readonly [sinceMs: number, atMs: number])[] {
  const lines: [number, number][] = [];
  const journal = {
    write: (line: WorkerLine, atNs: string) => {
      if (line.type === 'starved') lines.push([Number(line.sinceNs) / 1e6, Number(atNs) / 1e6]);
    },
  } as unknown as Journal<WorkerLine>;
  let [nowMs, usedMs] = [1_000, 50];
  let beat: (() => void) | undefined;
  const end = watchStarvation(journal, {
    nowNs: () => BigInt(nowMs * 1e6),
    processorMs: () => usedMs,
    every: (_, act) => {
      beat = act;
      return () => {
        beat = undefined;
      };
    },
  });
  for (const next of beats) {
    nowMs += next.passedMs;
    usedMs += next.usedMs;
    beat?.();
  }
  end();
  expect(beat).toBeUndefined();
  return lines;
}

it('a process that the machine lets run for less than half of the time is starved meanwhile', () => {
  const beats = [
    { passedMs: 25, usedMs: 1 },
    { passedMs: 800, usedMs: 399 },
    { passedMs: 25, usedMs: 20 },
    { passedMs: 250, usedMs: 0 },
  ];
  expect(linesOf(beats)).toEqual([
    [1_025, 1_825],
    [1_850, 2_100],
  ]);
});

it('a process that is busy itself, or late by little, is not starved', () => {
  const beats = [
    { passedMs: 800, usedMs: 400 },
    { passedMs: 249, usedMs: 0 },
    { passedMs: 800, usedMs: 1_100 },
  ];
  expect(linesOf(beats)).toEqual([]);
});
