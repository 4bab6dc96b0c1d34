import { expect } from 'vitest';

import type { Hold, LockHandle } from '../../../src/index.js';
import type { Line } from './worker-lines.js';

/** A time in which a process believed that it held the lock, on the clock that all processes of the machine share. */
export interface Belief {
  readonly token: number;
  readonly fromNs: bigint;
  readonly untilNs: bigint;
}

const NS_PER_MS = 1_000_000;

/** The end of the time that a hold promised when it was checked: its process relies on it until then. */
const promisedNs = (atNs: string, remainingMs: number): bigint =>
  BigInt(atNs) + BigInt(Math.floor(remainingMs * NS_PER_MS));

/** The beliefs of a worker. If it dies or stops, its last belief goes on until the end that its hold last promised. */
export function beliefsOf(lines: readonly Line[]): readonly Belief[] {
  const beliefs: Belief[] = [];
  for (const line of lines) {
    const last = beliefs.at(-1);
    if (line.says === 'granted') {
      const { token, atNs, remainingMs } = line;
      beliefs.push({ token, fromNs: BigInt(atNs), untilNs: promisedNs(atNs, remainingMs) });
    } else if (last !== undefined && line.says === 'look' && line.isHeld) {
      const untilNs = promisedNs(line.atNs, line.remainingMs);
      beliefs.splice(-1, 1, { ...last, untilNs: untilNs > last.untilNs ? untilNs : last.untilNs });
    } else if (last !== undefined && line.says === 'releasing') {
      const untilNs = BigInt(line.atNs);
      beliefs.splice(-1, 1, { ...last, untilNs: untilNs < last.untilNs ? untilNs : last.untilNs });
    }
  }
  return beliefs;
}

/** The belief of this process in a hold that was just granted. By default, the present time is that of the machine. */
export function beliefIn(
  hold: Hold & Pick<LockHandle, 'fencingToken'>,
  fromNs = process.hrtime.bigint(),
): Belief {
  return { token: hold.fencingToken, fromNs, untilNs: promisedNs(String(fromNs), hold.remainingMs) };
}

/** S2 and S3: no two beliefs overlap, and the later one has the higher token. */
export function expectDisjoint(beliefs: readonly Belief[]): void {
  const inTime = [...beliefs].sort((a, b) => (a.fromNs < b.fromNs ? -1 : 1));
  for (const [index, later] of inTime.slice(1).entries()) {
    const earlier = inTime[index];
    expect(later.token).toBeGreaterThan(earlier?.token ?? Infinity);
    expect(later.fromNs).toBeGreaterThanOrEqual(earlier?.untilNs ?? later.fromNs + 1n);
  }
}
