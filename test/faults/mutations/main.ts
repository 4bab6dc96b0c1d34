// Plants one bug after the other, and prints which checkers found it.
import { rm } from 'node:fs/promises';

import { Command, InvalidArgumentError } from 'commander';

import { buildProgram } from '../../../lab/processes/program.js';
import { startFaultCluster } from '../../../lab/cluster/fault-cluster.js';
import { runRound } from '../round.js';
import { markdown } from '../summary.js';
import type { Violation } from '../verdict.js';
import { WORKER } from '../workload/crew.js';
import { buildMutant, MUTATIONS } from './mutant.js';
import type { Mutation } from './mutation.js';
import { TRIALS } from './trials.js';
import type { TrialName } from './trials.js';
import { wholeNumber } from '../../support/option-values.js';

interface Options {
  readonly only: readonly Mutation[] | undefined;
  readonly seed: number;
}

/** How many rounds a bug gets to be found, each under another seed. */
const ROUNDS = 5;

/**
 * Far longer than a healthy worker takes in most trials, so that a bug that hangs every worker shows in less than a
 * minute.
 */
const END_BOUND_MS = 15_000;

function mutationsOf(text: string): readonly Mutation[] {
  return text.split(',').map((name) => {
    const mutation = MUTATIONS.find((one) => one.name === name);
    if (mutation !== undefined) return mutation;
    const known = MUTATIONS.map((one) => one.name).join(', ');
    throw new InvalidArgumentError(`There is no mutation ${name}, only ${known}.`);
  });
}

const command = new Command('test:mutations')
  .description(
    'Plants bugs in copies of the library, one at a time, and tells which checker caught each of them.',
  )
  .option('--only <names>', 'these alone: newcomer-first,w-1', mutationsOf)
  .option('--seed <number>', 'what chance is drawn from', wholeNumber, 1)
  .parse();
const { only = MUTATIONS, seed } = command.opts<Options>();

/** The result of one worker program under one trial. */
interface Result {
  /** The checkers that found something, and the first finding of each; the one with most findings first. */
  readonly finders: ReadonlyMap<string, string>;
  readonly seconds: number;
}

function findersIn(violations: readonly Violation[]): ReadonlyMap<string, string> {
  const found = new Map<string, Violation[]>();
  for (const violation of violations) {
    const finder = `${violation.checker} (${violation.invariant})`;
    found.set(finder, [...(found.get(finder) ?? []), violation]);
  }
  const sorted = [...found].sort(([, a], [, b]) => b.length - a.length);
  return new Map(sorted.map(([finder, [first]]) => [finder, first?.what ?? '']));
}

/** Runs rounds until a checker finds something, apart from checkers that find something without any bug. */
async function tryOut(
  program: string,
  trial: TrialName,
  rounds: number,
  without: ReadonlyMap<string, string> = new Map(),
): Promise<Result> {
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1_000;
  for (let round = 0; round < rounds; round += 1) {
    try {
      const plan = { endBoundMs: END_BOUND_MS, ...TRIALS[trial], cluster, program, seed: seed + round };
      const { violations, folder } = await runRound(plan);
      await rm(folder, { recursive: true, force: true });
      const finders = new Map([...findersIn(violations)].filter(([finder]) => !without.has(finder)));
      if (finders.size > 0) return { finders, seconds: seconds() };
    } catch (error) {
      // The round was not judged, so no checker has caught the bug.
      console.log(`  ${trial}, seed ${seed + round}: came to nothing: ${String(error)}`);
    }
  }
  return { finders: new Map(), seconds: seconds() };
}

function tell(name: string, { finders, seconds }: Result): void {
  console.log(`${name}: ${[...finders.keys()].join(', ') || 'nothing found'}, ${seconds.toFixed(0)} s`);
  for (const [finder, what] of finders) console.log(`  ${finder} ${what}`);
}

await using cluster = await startFaultCluster({ withClocks: true });
console.log(`leasehold: ${cluster.description}; seed ${seed}`);
await using unharmed = await buildProgram(WORKER);
const controls = new Map<TrialName, Result>();
const rows: string[][] = [];
const survivors: string[] = [];

/** The same trial without a bug: a checker that finds something here cannot prove a bug. */
async function control(trial: TrialName): Promise<Result> {
  const known = controls.get(trial);
  if (known !== undefined) return known;
  const result = await tryOut(unharmed.path, trial, 1);
  controls.set(trial, result);
  tell(`nothing planted, ${trial}`, result);
  return result;
}

async function plant(mutation: Mutation): Promise<void> {
  const { name, breaks, trial } = mutation;
  if (trial === 'skewed failovers' && !cluster.canSetClocks) {
    console.log(`${name}: skipped, because libfaketime is not installed`);
    rows.push([name, breaks, trial, 'skipped', '']);
    return;
  }
  const { finders: without } = await control(trial);
  await using worker = await buildMutant(mutation);
  const result = await tryOut(worker.path, trial, ROUNDS, without);
  tell(name, result);
  const caughtBy = [...result.finders.keys()].join(', ');
  if (caughtBy === '') survivors.push(name);
  rows.push([name, breaks, trial, caughtBy || '**nobody**', caughtBy && result.seconds.toFixed(0)]);
}

for (const mutation of only) await plant(mutation);
for (const [trial, { finders }] of controls) {
  rows.push(['nothing', '', trial, [...finders.keys()].join(', ') || 'nobody', '']);
}
console.log(
  `\n${markdown(['planted bug', 'what is wrong', 'trial', 'caught by', 'seconds'], rows).join('\n')}`,
);
const isQuiet = [...controls.values()].every(({ finders }) => finders.size === 0);
process.exitCode = survivors.length === 0 && isQuiet ? 0 : 1;
