// Plants one bug after the other into the simulated library, and prints the seed that finds each of them.
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

import { Command, InvalidArgumentError } from 'commander';

import { markdown } from '../../faults/summary.js';
import { wholeNumber } from '../../support/option-values.js';
import { ALL_MUTATIONS } from './all-mutations.js';
import type { Catch, HuntTask } from './hunt.js';
import { buildWith } from './mutant-program.js';
import type { SimulatedMutation } from './simulated-mutation.js';
import { rowsOfPage, writeTable } from './table.js';

interface Options {
  readonly only: readonly SimulatedMutation[];
  readonly seed?: number;
  readonly seeds: number;
  readonly bound: number;
  readonly write: boolean;
}

const HUNT = new URL('./hunt.ts', import.meta.url);
const run = promisify(execFile);

/** As long as a control of one seed may take. */
const CONTROL_MS = 60_000;

function mutationsOf(text: string): readonly SimulatedMutation[] {
  return text.split(',').map((name) => {
    const mutation = ALL_MUTATIONS.find((one) => one.name === name);
    if (mutation !== undefined) return mutation;
    const known = ALL_MUTATIONS.map((one) => one.name).join(', ');
    throw new InvalidArgumentError(`There is no mutation ${name}, only ${known}.`);
  });
}

const command = new Command('simulate:mutations')
  .description(
    'Plants bugs in the simulated library, one at a time, and tells which seed finds each of them.',
  )
  .option('--only <names>', 'these alone: newcomer-first,w-1', mutationsOf, ALL_MUTATIONS)
  .option(
    '--seed <number>',
    'the first seed of each bug; otherwise the one in docs/simulation.md',
    wholeNumber,
  )
  .option('--seeds <number>', 'how many seeds each bug gets', wholeNumber, 10_000)
  .option('--bound <seconds>', 'how long each bug gets', wholeNumber, 60)
  .option('--write', 'put the table into docs/simulation.md', false)
  .parse();
const { only, seed: firstSeed, seeds, bound, write } = command.opts<Options>();

/** The seeds of the last table. The search goes on with the next one where such a seed finds nothing any more. */
const known = new Map((await rowsOfPage()).map(({ name, seed }) => [name, seed]));

interface Result extends Catch {
  readonly mutation: SimulatedMutation;
  /** Set if the program came to nothing. */
  readonly trouble?: string;
}

/** Runs the tasks in one process with this library. */
async function runTasks(path: string, tasks: readonly HuntTask[]): Promise<readonly Catch[]> {
  const boundMs = tasks.reduce((sum, task) => sum + 2 * task.boundMs, 0);
  const args = ['--enable-source-maps', path, JSON.stringify(tasks)];
  const { stdout } = await run(process.execPath, args, { timeout: boundMs, maxBuffer: 2 ** 28 });
  return JSON.parse(stdout) as readonly Catch[];
}

async function hunt(mutation: SimulatedMutation): Promise<Result> {
  await using program = await buildWith(mutation.edits, HUNT);
  const first = firstSeed ?? known.get(mutation.name) ?? 1;
  const task = { wanted: mutation.ground, firstSeed: first, seeds, boundMs: bound * 1_000 };
  const nothing = { mutation, seeds: 0, seconds: bound, violations: [] };
  try {
    const [found] = await runTasks(program.path, [task]);
    return { ...nothing, ...found };
  } catch (error) {
    return { ...nothing, trouble: String(error).slice(0, 2_000) };
  }
}

const findersIn = ({ violations }: Catch): string =>
  [...new Set(violations.map(({ checker, invariant }) => `${checker} (${invariant})`))].join(', ');

function tell(result: Result): void {
  const { mutation, seed, seconds, violations, trouble = '', seeds: tried } = result;
  const found = seed === undefined ? `nothing found in ${tried} seeds` : `seed ${seed}, ${findersIn(result)}`;
  console.log(`${mutation.name}: ${found}, ${seconds.toFixed(1)} s ${trouble}`);
  if (violations[0] !== undefined) console.log(`  ${violations[0].what.slice(0, 300)}`);
}

/** Does this for each of the things, two at a time. */
async function forEachOf<T>(things: readonly T[], act: (thing: T) => Promise<void>): Promise<void> {
  const waiting = [...things];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await act(next);
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
}

const startMs = performance.now();
const results: Result[] = [];
await forEachOf(only, async (mutation) => {
  const result = await hunt(mutation);
  results.push(result);
  tell(result);
});
const inOrder = results.toSorted((a, b) => only.indexOf(a.mutation) - only.indexOf(b.mutation));
const survivors = inOrder.filter(({ seed }) => seed === undefined);
const caught = inOrder.flatMap((one) => (one.seed === undefined ? [] : [{ ...one, seed: one.seed }]));

/** The same plans without the bug: a judge that finds something there proves no bug. */
const unsound: string[] = [];
await using unharmed = await buildWith([], HUNT);
await forEachOf(
  [caught.filter((_, index) => index % 2 === 0), caught.filter((_, index) => index % 2 === 1)],
  async (half) => {
    const tasks = half.map(({ mutation: { ground }, seed }) => ({
      ...{ wanted: ground, firstSeed: seed, seeds: 1, boundMs: CONTROL_MS },
    }));
    const controls = await runTasks(unharmed.path, tasks);
    for (const [index, { mutation, seed }] of half.entries()) {
      const control = controls[index];
      if (control?.seed === undefined) continue;
      unsound.push(`${mutation.name}: seed ${seed} fails without the bug, too: ${findersIn(control)}`);
    }
  },
);
const tookMs = performance.now() - startMs;

const rows = inOrder.map((result) => {
  const { mutation, seed, seconds } = result;
  const isFound = seed !== undefined;
  return [
    `\`${mutation.name}\``,
    mutation.breaks,
    isFound ? findersIn(result) : '**nobody**',
    isFound ? String(seed) : '',
    isFound ? seconds.toFixed(1) : '',
  ];
});
const table = markdown(['planted bug', 'what is wrong', 'found by', 'seed', 'processor seconds'], rows);
console.log(`\n${table.join('\n')}`);
const least = caught.filter(({ seed }) => seed <= 100).length;
const sum = `${caught.length} of ${results.length} found in ${(tookMs / 1_000).toFixed(0)} s, ${least} of them by a seed up to 100`;
console.log(sum);
for (const words of unsound) console.log(words);
if (write)
  await writeTable([
    ...table,
    '',
    `${sum}. Without its bug, ${caught.length - unsound.length} of these seeds find nothing.`,
  ]);
process.exitCode = survivors.length === 0 && unsound.length === 0 ? 0 : 1;
