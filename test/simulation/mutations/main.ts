// Plants one bug after the other into the simulated library, and prints the seed that finds each of them.
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

import { Command } from 'commander';

import type { BuiltProgram } from '../../../lab/processes/program.js';
import { MUTATIONS } from '../../faults/mutations/mutant.js';
import { markdown } from '../../faults/summary.js';
import { drawPlan } from '../plan/draw-plan.js';
import { runPlan } from '../run-plan.js';
import { GROUNDS } from './hunting-grounds.js';
import type { Catch, HuntTask } from './hunt.js';
import { buildWith } from './mutant-program.js';
import { NEW_MUTATIONS } from './new-mutations.js';
import type { SimulatedMutation } from './simulated-mutation.js';
import { wholeNumber } from '../../support/option-values.js';

interface Options {
  readonly only: readonly string[] | undefined;
  readonly seed: number;
  readonly seeds: number;
  readonly bound: number;
}

const HUNT = new URL('./hunt.ts', import.meta.url);
const run = promisify(execFile);

const KNOWN: readonly SimulatedMutation[] = MUTATIONS.flatMap(({ name, breaks, edits, trial }) => {
  const ground = GROUNDS[trial];
  return ground === null ? [] : [{ name, breaks, edits, ground }];
});
const LEFT_OUT = MUTATIONS.filter(({ trial }) => GROUNDS[trial] === null).map(({ name }) => name);
const ALL = [...KNOWN, ...NEW_MUTATIONS];

const command = new Command('simulate:mutations')
  .description(
    'Plants bugs in the simulated library, one at a time, and tells which seed finds each of them.',
  )
  .option('--only <names>', 'these alone: newcomer-first,w-1', (text) => text.split(','))
  .option('--seed <number>', 'the first seed', wholeNumber, 1)
  .option('--seeds <number>', 'how many seeds each bug gets', wholeNumber, 10_000)
  .option('--bound <seconds>', 'how long each bug gets', wholeNumber, 60)
  .parse();
const { only, seed: firstSeed, seeds, bound } = command.opts<Options>();

interface Result extends Catch {
  readonly mutation: SimulatedMutation;
  /** Set if the seed also fails without the bug, or if the program came to nothing. */
  readonly trouble?: string;
}

async function hunt(mutation: SimulatedMutation): Promise<Result> {
  const task: HuntTask = { wanted: mutation.ground, firstSeed, seeds, boundMs: bound * 1_000 };
  await using program: BuiltProgram = await buildWith(mutation.edits, HUNT);
  const options = { timeout: 2 * bound * 1_000, maxBuffer: 2 ** 28 };
  const args = ['--enable-source-maps', program.path, JSON.stringify(task)];
  try {
    const { stdout } = await run(process.execPath, args, options);
    return { mutation, ...(JSON.parse(stdout) as Catch) };
  } catch (error) {
    const trouble = String(error).slice(0, 2_000);
    return { mutation, seed: undefined, seeds: 0, seconds: bound, violations: [], trouble };
  }
}

const results: Result[] = [];
const waiting = ALL.filter(({ name }) => only?.includes(name) !== false);

function tell({ mutation, seed, seconds, violations, trouble, seeds: tried }: Result): void {
  const finders = new Set(violations.map(({ checker, invariant }) => `${checker} (${invariant})`));
  const found =
    seed === undefined ? `nothing found in ${tried} seeds` : `seed ${seed}, ${[...finders].join(', ')}`;
  console.log(
    `${mutation.name}: ${found}, ${seconds.toFixed(1)} s${trouble === undefined ? '' : ` ${trouble}`}`,
  );
  if (violations[0] !== undefined) console.log(`  ${violations[0].what.slice(0, 300)}`);
}

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const result = await hunt(next);
    results.push(result);
    tell(result);
  }
}

const startMs = performance.now();
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
const tookMs = performance.now() - startMs;

/** The same plans without the bug: a judge that finds something there proves no bug. */
const unsound: string[] = [];
for (const { mutation, seed } of results) {
  if (seed === undefined) continue;
  const { violations } = await runPlan(drawPlan(seed, mutation.ground));
  if (violations.length > 0) unsound.push(`${mutation.name}: seed ${seed} fails without the bug, too`);
}

const rows = results.map(({ mutation, seed, seeds: tried, seconds, violations }) => [
  mutation.name,
  mutation.breaks,
  seed === undefined ? '**nobody**' : [...new Set(violations.map(({ checker }) => checker))].join(', '),
  seed === undefined ? '' : String(seed),
  String(tried),
  seconds.toFixed(1),
]);
const head = ['planted bug', 'what is wrong', 'found by', 'seed', 'seeds', 'seconds'];
console.log(`\n${markdown(head, rows).join('\n')}`);
const survivors = results.filter(({ seed }) => seed === undefined);
console.log(
  `${results.length - survivors.length} of ${results.length} found in ${(tookMs / 1_000).toFixed(0)} s`,
);
if (only === undefined) console.log(`only on real servers: ${LEFT_OUT.join(', ')}`);
for (const words of unsound) console.log(words);
process.exitCode = survivors.length === 0 && unsound.length === 0 ? 0 : 1;
