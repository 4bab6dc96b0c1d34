import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { Fleet, resultOf, useCommandLine } from './command-line.js';

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
