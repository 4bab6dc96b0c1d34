import { beforeAll, describe, expect, it } from 'vitest';

import { useProgram } from '../support/built-program.js';
import { useFaultCluster } from '../support/fault-cluster.js';
import { tellLeftOut } from './nemesis/nemesis.js';
import { PROCESS_FAULTS, STORE_FAULTS } from './nemesis/fault-list.js';
import { stoppedWriter } from './nemesis/process-faults.js';
import { runOrdeal } from './ordeal.js';
import type { Ordeal } from './ordeal.js';
import { runRound, whereAndHow } from './round.js';
import type { RoundResult } from './round.js';
import { Summary } from './summary.js';
import { WORKER } from './workload/crew.js';
import { PLAIN_MUTEX } from './workload/wishes.js';

/** The same on every machine; `npm run test:faults` draws another one. */
const SEED = 20_261_121;

const WRITER_ROUNDS = 8;

/** A round has at least this many faults: the longest one takes less than a third of the shortest round. */
const LEAST_FAULTS = 3;

const worker = useProgram(WORKER);
const started = useFaultCluster({ withClocks: true });

beforeAll(() => {
  if (!started().canSetClocks) console.log('skipped: faults of clocks, because libfaketime is not installed');
});

const ordeal = (): Ordeal => ({
  cluster: started(),
  program: worker.path,
  storeFaults: STORE_FAULTS,
  processFaults: PROCESS_FAULTS,
});

async function stopWriters(seed: number): Promise<RoundResult> {
  return await runRound({
    ...{ ...ordeal(), storeFaults: [], processFaults: [stoppedWriter], seed, durationMs: 30_000 },
    ...{ leaseMs: 1_500, thinkMs: 200, isStrict: false, faultMs: { min: 0, max: 0 } },
    // All want the lock of the paused process, so others soon change what it has read.
    ...{ onlyLock: PLAIN_MUTEX, hasCandidate: false, bursts: 0 },
  });
}

/** For the failure's message: every violation in words, because an assertion shortens the objects that it compares. */
const violationsIn = (result: RoundResult): string =>
  [...result.violations.map(({ invariant, what }) => `${invariant}: ${what}`), whereAndHow(result)].join(
    '; ',
  );

describe('a process that is paused while it changes what the lock protects', { timeout: 600_000 }, () => {
  it('loses updates of a set without fencing, and none of a fenced set', async () => {
    let lost = 0;
    // It takes luck to pause a writer at the right moment, so there are several rounds.
    for (let seed = SEED; lost === 0 && seed < SEED + WRITER_ROUNDS; seed += 1) {
      const result = await stopWriters(seed);
      const { violations, sets } = result;
      expect(violations, violationsIn(result)).toEqual([]);
      const { memory, fenced, transaction } = sets;
      console.log(`sets: ${JSON.stringify({ memory, fenced, transaction })}`);
      for (const { acknowledged, lost: gone } of [fenced, transaction]) {
        expect(gone).toBe(0);
        expect(acknowledged).toBeGreaterThan(0);
      }
      lost = memory.lost;
    }
    expect(lost).toBeGreaterThan(0);
  });
});

const excusedIn = ({ history }: RoundResult): readonly number[] =>
  history.run.flatMap((line) =>
    line.type === 'fault begins' && (line.excuses ?? []).length > 0 ? [line.fault] : [],
  );

/** How often a strict round is begun that cannot be judged strictly, because the machine is too busy. */
const STRICT_TRIES = 3;

/** Returns the first result that is judged as its round is meant to be, or else the last one. */
async function undisturbed(round: number, durationMs: number, summary: Summary): Promise<RoundResult> {
  for (let tries = 1; ; tries += 1) {
    const result = await runOrdeal(ordeal(), round, SEED, durationMs);
    summary.take(result);
    if (!result.isDisturbed || result.violations.length > 0 || tries === STRICT_TRIES) return result;
  }
}

const ROUNDS = [
  { round: 0, seconds: 20, what: 'lose no hold, hear of every grant at once, and leave no lease to expire' },
  { round: 2, seconds: 40, what: 'keep every invariant while members, network and processes fail' },
  { round: 1, seconds: 35, what: 'get rising tokens even if clocks jump', excused: 13 },
  { round: 3, seconds: 35, what: 'get rising tokens even if documents are lost', excused: 18 },
];

describe('real processes that use every kind of lock at once, on three members', () => {
  // Not by `it.for`, which shortens a title that it is given.
  for (const { round, seconds, what, excused } of ROUNDS) {
    it(what, { timeout: 900_000 }, async ({ skip }) => {
      if (excused === 13 && !started().canSetClocks) skip('libfaketime is not installed');
      const summary = new Summary();
      const result = await undisturbed(round, seconds * 1_000, summary);
      tellLeftOut(result.missing);
      console.log([`seed ${result.seed}`, ...summary.lines()].join('\n'));
      expect(result.violations, violationsIn(result)).toEqual([]);
      const faults = [...result.faults.values()].reduce((sum, count) => sum + count, 0);
      expect(faults).toBeGreaterThanOrEqual(LEAST_FAULTS);
      if (excused !== undefined) expect(excusedIn(result)).toContain(excused);
      // Otherwise there was nothing to judge.
      expect(result.grants.length).toBeGreaterThan(50);
      expect(result.sets.fenced.acknowledged).toBeGreaterThan(0);
    });
  }
});
