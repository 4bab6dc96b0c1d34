import { expect, it } from 'vitest';

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
