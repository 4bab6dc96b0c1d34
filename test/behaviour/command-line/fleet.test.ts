import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { BUSY_MACHINE_MS, eventually } from '../../../lab/patience.js';
import { untilTestEnds } from '../../support/current-test.js';
import { commandOf, Fleet, resultOf, useCommandLine } from './command-line.js';
import { attemptsOf, machine } from './crontab.js';

useCommandLine();

const PROCESSES = 10;
const ROUNDS = 3;

it('ten processes that run one command at each instant, as cron does, run it once', async () => {
  const fleet = new Fleet();
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-fleet-'));
  const log = join(folder, 'log');
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
      const codes = (await Promise.all(results)).map(({ code }) => code).sort();
      expect(codes).toEqual([0, ...Array.from({ length: PROCESSES - 1 }, () => 75)]);
    }
    expect(await readFile(log, 'utf8')).toBe('0\n1\n2\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** How long the crontabs run; LEASEHOLD_CRON_SECONDS sets another time. */
const CRON_MS = 1_000 * Number(process.env['LEASEHOLD_CRON_SECONDS'] ?? 60);
const PERIOD_MS = 15_000;
const HOLD_MS = 10_000;

it('one crontab line on ten machines runs a short command once at each instant, if all try within --hold-at-least', async () => {
  const fleet = new Fleet();
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-cron-'));
  const log = join(folder, 'log');
  const instants = Math.round(CRON_MS / PERIOD_MS);
  const line = `${commandOf('run', 'report', '-n', '-E', '0', '--hold-at-least', `${HOLD_MS}ms`, '-c')} 'echo $INSTANT >> ${log}'`;
  const common = { line, firstMs: Date.now() + 3_000, periodMs: PERIOD_MS, instants, env: fleet.env };
  try {
    const machines = Array.from({ length: PROCESSES }, (_, at) =>
      untilTestEnds(machine({ ...common, behindMs: 150 * at })),
    );
    for (const each of machines) await each.endsByItself(0, CRON_MS + BUSY_MACHINE_MS);
    const runs = (await readFile(log, 'utf8')).trim().split('\n').map(Number);
    const attempts = machines.flatMap(attemptsOf);
    // On a busy machine, a process may reach the server too late, and ends with 69.
    expect(attempts.filter(({ code }) => code !== 0 && code !== 69)).toEqual([]);
    let judged = 0;
    let freeMs = 0;
    for (let instant = 0; instant < instants; instant += 1) {
      const all = attempts.filter((each) => each.instant === instant);
      const firstMs = Math.min(...all.map(({ startedMs }) => startedMs));
      // The winner ends last, because it keeps the lock.
      const [releasedMs = 0, refusedMs = 0] = all.map(({ endedMs }) => endedMs).sort((x, y) => y - x);
      const haveTried = all.length > 0 && all.every(({ code }) => code === 0);
      const isInBounds = haveTried && freeMs < firstMs && refusedMs - firstMs < HOLD_MS;
      freeMs = Math.max(freeMs, releasedMs);
      if (!isInBounds) continue;
      judged += 1;
      expect({ instant, runs: runs.filter((run) => run === instant).length }).toEqual({ instant, runs: 1 });
    }
    console.log(
      `crontab: ${instants} instants, ${attempts.length} attempts, ${runs.length} runs; ${judged} instants in the bounds`,
    );
    expect(judged).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
