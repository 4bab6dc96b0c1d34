import { expect, it } from 'vitest';

import { LockLostError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import type { WorkerLine } from '../history.js';
import type { Journal } from './journal.js';
import { realTime } from './worker-time.js';
import { ObservedHold } from './observed-hold.js';

it('a handle that was lost before its return is written down as a promise of no time at all', () => {
  const lost = {
    id: 'a',
    fencingToken: 7,
    isHeld: false,
    remainingMs: 0,
    signal: new AbortController().signal,
  };
  const lines: { readonly untilNs?: string; readonly atNs?: string | undefined }[] = [];
  const journal = {
    write: (line: object, atNs?: string) => lines.push({ ...line, atNs }),
  } as unknown as Journal<WorkerLine>;
  new ObservedHold(lost as unknown as LockHandle, 1, { journal, time: realTime }).releasing();
  expect(lines[0]?.untilNs).toBe(lines[0]?.atNs);
});

it('a loss between the line of the grant and the first look at the signal is written down', () => {
  const controller = new AbortController();
  const lines: WorkerLine[] = [];
  const handle = {
    id: 'a',
    fencingToken: 7,
    isHeld: true,
    remainingMs: 1_000,
    // The process stood still until the lease was over: the signal is aborted when it is read.
    get signal(): AbortSignal {
      controller.abort(new LockLostError('a', 'expired'));
      return controller.signal;
    },
  };
  const journal = { write: (line: WorkerLine) => void lines.push(line) } as unknown as Journal<WorkerLine>;
  const hold = new ObservedHold(handle as unknown as LockHandle, 1, { journal, time: realTime });
  expect(lines.map(({ type }) => type)).toEqual(['granted', 'lost']);
  hold.releasing();
  hold.released(false);
});

it('a promise that grows in steps of less than a millisecond is written down', () => {
  const lines: WorkerLine[] = [];
  let nowNs = 0n;
  let remainingMs = 100;
  const handle = {
    id: 'a',
    fencingToken: 7,
    isHeld: true,
    get remainingMs() {
      return remainingMs;
    },
    signal: new AbortController().signal,
  };
  const journal = { write: (line: WorkerLine) => void lines.push(line) } as unknown as Journal<WorkerLine>;
  const time = { ...realTime, nowNs: () => nowNs };
  const hold = new ObservedHold(handle as unknown as LockHandle, 1, { journal, time });
  for (let step = 1; step <= 3; step += 1) {
    nowNs += 1_000_000n;
    remainingMs = 99 + 0.8 * step - (step - 1);
    hold.look();
  }
  const promises = lines.flatMap((line) => ('untilNs' in line ? [Number(line.untilNs) / 1e6] : []));
  expect(promises).toEqual([100, 101.6]);
  hold.releasing();
  hold.released(true);
});

it('a hold in doubt at the end of the last promise that was seen is not over, because it may be confirmed', () => {
  const lines: WorkerLine[] = [];
  let nowNs = 0n;
  let [isHeld, remainingMs, why]: [boolean, number, string | undefined] = [true, 100, undefined];
  const handle = {
    ...{ id: 'a', fencingToken: 7, signal: new AbortController().signal },
    get isHeld() {
      return isHeld;
    },
    get remainingMs() {
      return remainingMs;
    },
    toJSON: () => ({ isHeld, why }),
  };
  const journal = { write: (line: WorkerLine) => void lines.push(line) } as unknown as Journal<WorkerLine>;
  const time = { ...realTime, nowNs: () => nowNs };
  const hold = new ObservedHold(handle as unknown as LockHandle, 1, { journal, time });
  const lookIn = (...state: [boolean, number, string | undefined]): void => {
    nowNs += 150_000_000n;
    [isHeld, remainingMs, why] = state;
    hold.look();
  };
  // An answer has moved the deadline, and a jump of the clock hides that until the next answer.
  lookIn(false, 0, 'suspended');
  lookIn(true, 500, undefined);
  expect(lines.map(({ type }) => type)).toEqual(['granted', 'promised']);
  lookIn(false, 0, 'suspended');
  lookIn(false, 0, 'suspended');
  lookIn(false, 0, undefined);
  lookIn(false, 0, 'expired');
  expect(lines.map(({ type }) => type)).toEqual(['granted', 'promised', 'not held']);
  hold.releasing();
  hold.released(true);
});

it('the line of a loss says when a look last found the hold in doubt, with its deadline ahead', () => {
  const lines: WorkerLine[] = [];
  const controller = new AbortController();
  let nowNs = 0n;
  let [isHeld, why]: [boolean, string | undefined] = [true, undefined];
  const handle = {
    ...{ id: 'a', fencingToken: 7, signal: controller.signal },
    get isHeld() {
      return isHeld;
    },
    get remainingMs() {
      return isHeld ? 100 : 0;
    },
    toJSON: () => ({ isHeld, why }),
  };
  const journal = { write: (line: WorkerLine) => void lines.push(line) } as unknown as Journal<WorkerLine>;
  const time = { ...realTime, nowNs: () => nowNs };
  const hold = new ObservedHold(handle as unknown as LockHandle, 1, { journal, time });
  for (const lookNs of [100_000_000n, 200_000_000n]) {
    nowNs = lookNs;
    [isHeld, why] = [false, 'suspended'];
    hold.look();
  }
  nowNs = 300_000_000n;
  why = 'expired';
  controller.abort(new LockLostError('a', 'expired'));
  expect(lines.at(-1)).toMatchObject({ type: 'lost', openNs: '200000000' });
  hold.releasing();
  hold.released(false);
});
