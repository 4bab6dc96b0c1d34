import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { BUSY_MACHINE_MS, eventually, later, pause } from '../../../lab/patience.js';
import { untilTestEnds } from '../../support/current-test.js';
import { commandOf, Fleet, resultOf, useCommandLine } from './command-line.js';
import { isAnswer, judge, RAN, REFUSED, summaryOf } from './crontab-judge.js';
import { attemptsOf, machine } from './crontab.js';

useCommandLine();

const PROCESSES = 10;
const ROUNDS = 3;

it('ten processes that run one command at each instant, as cron does, run it once', async () => {
  const fleet = new Fleet();
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-fleet-'));
  const log = join(folder, 'log');
  let refused = 0;
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      // The winner holds the lock until all others have been refused, as a job that takes its time does.
      const children = Array.from({ length: PROCESSES }, () =>
        fleet.start('run', `job at ${round}`, '-n', '-c', `echo ${round} >> ${log}; read end`),
      );
      const results = children.map((child) => resultOf(child));
      let ended = 0;
      for (const result of results) void result.then(() => (ended += 1));
      await eventually('all but one have ended', () => ended === PROCESSES - 1);
      for (const child of children) child.order('end');
      const codes = (await Promise.all(results)).map(({ code }) => code);
      expect(codes.filter((code) => code === 0)).toHaveLength(1);
      // On a busy machine, a process may reach the server too late (69).
      expect(codes.filter((code) => ![0, 75, 69].includes(code ?? NaN))).toEqual([]);
      refused += codes.filter((code) => code === 75).length;
    }
    expect(refused).toBeGreaterThan((ROUNDS * (PROCESSES - 1)) / 2);
    expect(await readFile(log, 'utf8')).toBe('0\n1\n2\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** How long the crontabs run; LEASEHOLD_CRON_SECONDS sets another time. */
const CRON_MS = 1_000 * Number(process.env['LEASEHOLD_CRON_SECONDS'] ?? 300);
const PERIOD_MS = 30_000;
const HOLD_MS = 15_000;
const LEASE_MS = 30_000;

/** Notes when each hold of the lock began, by the clock of the store, until the signal aborts. By the token of the hold. */
async function acquisitionsOf(
  { locks }: Fleet,
  name: string,
  end: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const acquired = new Map<string, number>();
  while (!end.aborted) {
    // A read that a busy machine leaves without an answer is made again: a hold lasts long.
    const snapshot = await locks.inspect(name).catch(() => null);
    for (const { token, acquiredAt } of snapshot?.holders ?? [])
      acquired.set(String(token), acquiredAt.getTime());
    await pause(250);
  }
  return acquired;
}

const HOLDS = ['--hold-at-least', `${HOLD_MS}ms`, '--lease', `${LEASE_MS}ms`];

it('one crontab line on ten machines runs a short command once at each instant, if all try within --hold-at-least', async () => {
  const fleet = new Fleet();
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-cron-'));
  const log = join(folder, 'log');
  const instants = Math.round(CRON_MS / PERIOD_MS);
  const command = `'echo $INSTANT $LEASEHOLD_TOKEN $(date +%s) >> ${log}'`;
  const line = `${commandOf('run', 'report', '-n', '-E', String(REFUSED), ...HOLDS, '-c')} ${command}`;
  const common = { line, firstMs: Date.now() + 3_000, periodMs: PERIOD_MS, instants, env: fleet.env };
  const end = new AbortController();
  try {
    const acquisitions = later(acquisitionsOf(fleet, 'report', end.signal));
    const machines = Array.from({ length: PROCESSES }, (_, at) =>
      untilTestEnds(machine({ ...common, behindMs: 150 * at })),
    );
    for (const each of machines) await each.endsByItself(0, CRON_MS + BUSY_MACHINE_MS);
    end.abort();
    const acquired = await acquisitions;
    const attempts = machines.flatMap(attemptsOf);
    // On a busy machine, a process may reach the server too late (69), or lose its lock (76).
    const expected: readonly (number | null)[] = [RAN, REFUSED, 69, 76];
    expect(attempts.filter(({ code }) => !expected.includes(code))).toEqual([]);
    expect(attempts.filter(({ code }) => isAnswer(code))).not.toEqual([]);
    // Without a run, there is no file.
    const logged = await readFile(log, 'utf8').catch(() => '');
    const runs = [...logged.matchAll(/^(\d+) (\d+) (\d+)$/gm)].map(([, instant, token = '', second]) => ({
      instant: Number(instant),
      acquiredMs: acquired.get(token),
      ranMs: 1_000 * Number(second) + 999,
    }));
    const judgements = judge(attempts, runs, { holdMs: HOLD_MS, leaseMs: LEASE_MS });
    console.log(summaryOf(judgements, attempts));
    expect(
      judgements.filter(({ atMostOnce, atLeastOnce }) => [atMostOnce, atLeastOnce].includes('broken')),
    ).toEqual([]);
    // An instant that is not judged proves nothing.
    for (const promise of ['atMostOnce', 'atLeastOnce'] as const) {
      const kept = judgements.filter((each) => each[promise] === 'kept');
      expect([promise, kept.length]).toEqual([promise, expect.toSatisfy((n: number) => n > instants / 2)]);
    }
  } finally {
    end.abort();
    await rm(folder, { recursive: true });
  }
});
