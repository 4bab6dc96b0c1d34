import { expect, it } from 'vitest';
import type { RunCoordinator as NodeCronRunCoordinator } from 'node-cron';

import type { RunCoordinator } from '../../../src/node-cron/index.js';
import { eventually } from '../../../lab/patience.js';
import { Child } from '../../../lab/processes/child.js';
import { useProgram } from '../../support/built-program.js';
import { ownDatabase } from '../../support/test-provider.js';
import type { CronLine, CronOrder, CronTask } from './cron-lines.js';

type Worker = Child<CronOrder, CronLine>;

const program = useProgram(new URL('cron-worker.ts', import.meta.url));

/** The instants that this process has begun to run. */
const runsOf = ({ lines }: Worker): readonly number[] =>
  lines.flatMap((line) => (line.says === 'runs' ? [line.instantMs] : []));

it('three processes with node-cron run each instant once, also when one is killed in a run', async () => {
  const { uri, name: database } = ownDatabase();
  const task: CronTask = { uri, database };
  await using first = new Child<CronOrder, CronLine>([program.path, JSON.stringify(task)]);
  await using second = new Child<CronOrder, CronLine>([program.path, JSON.stringify(task)]);
  await using third = new Child<CronOrder, CronLine>([program.path, JSON.stringify(task)]);
  const workers = [first, second, third];
  const allRuns = (): readonly number[] => workers.flatMap(runsOf);
  await eventually('five runs', () => allRuns().length >= 5);

  await first.tell({ does: 'hang' }, 'hang');
  const before = runsOf(first).length;
  await eventually('a run that hangs', () => runsOf(first).length > before);
  first.signal('SIGKILL');
  await first.ended;
  const killedIn = runsOf(first).at(-1) ?? NaN;

  await eventually(
    'five runs of the others after it',
    () => [second, third].flatMap(runsOf).filter((instant) => instant > killedIn).length >= 5,
  );
  const instants = allRuns();
  expect(new Set(instants).size).toBe(instants.length);
  expect([second, third].flatMap(runsOf)).not.toContain(killedIn);
});

it('fits the interface of node-cron', () => {
  expect<(coordinator: RunCoordinator) => NodeCronRunCoordinator>((coordinator) => coordinator).toBeTypeOf(
    'function',
  );
});
