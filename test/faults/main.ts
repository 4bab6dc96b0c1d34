// The long run under faults: rounds of a minute until the time is over or something is found.
import { spawnSync } from 'node:child_process';

import { Command, InvalidArgumentError } from 'commander';

import { buildProgram } from '../../lab/processes/program.js';
import { startFaultCluster } from '../../lab/cluster/fault-cluster.js';
import { PROCESS_FAULTS, PROVED_ELSEWHERE, STORE_FAULTS } from './nemesis/fault-list.js';
import { tellLeftOut } from './nemesis/nemesis.js';
import { runOrdeal } from './ordeal.js';
import { whereAndHow } from './round.js';
import type { RoundResult } from './round.js';
import { Summary } from './summary.js';
import { WORKER } from './workload/crew.js';
import { positive, wholeNumber } from '../support/option-values.js';

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly round: number | undefined;
  readonly only: readonly number[] | undefined;
  readonly keepJournals: boolean | undefined;
}

const ROUND_MS = 60_000;

/** The number of the long run itself in the list of faults. */
const ALL = 34;

const known = [...STORE_FAULTS, ...PROCESS_FAULTS].map(({ number }) => number);

function faultsOf(text: string): readonly number[] {
  return text.split(',').map((part) => {
    const number = Number(part);
    if ([...known, ALL].includes(number) || number in PROVED_ELSEWHERE) return number;
    throw new InvalidArgumentError(`There is no fault ${part}.`);
  });
}

const program = new Command('test:faults')
  .description(
    'Lets faults happen to a replica set of three and to processes that use locks, and judges what came of it.',
  )
  .option('--minutes <number>', 'for how long', positive, 10)
  .option(
    '--seed <number>',
    'what chance is drawn from',
    wholeNumber,
    Math.floor(Math.random() * 0x7f_ff_ff_ff),
  )
  .option('--round <number>', 'this round of the run under that seed, alone', wholeNumber)
  .option('--only <numbers>', 'these faults alone, as in docs/faults.md: 1,7,15', faultsOf)
  .option('--keep-journals', 'keep what was written down, also where nothing was found')
  .parse();
const { minutes, seed, round: onlyRound, only, keepJournals } = program.opts<Options>();

const isWanted = (number: number): boolean =>
  only === undefined || only.includes(ALL) || only.includes(number);

/** The faults that have files of tests of their own. */
function runTests(): boolean {
  const files = Object.entries(PROVED_ELSEWHERE).flatMap(([number, tests]) =>
    isWanted(Number(number)) ? tests : [],
  );
  if (files.length === 0) return true;
  // The quick breadth leaves some of these files out, and a run that finds none of its files fails.
  const run = ['run', '--mode', 'long', ...new Set(files)];
  return spawnSync('vitest', run, { stdio: 'inherit' }).status === 0;
}

async function runRounds(): Promise<boolean> {
  const storeFaults = STORE_FAULTS.filter(({ number }) => isWanted(number));
  const processFaults = PROCESS_FAULTS.filter(({ number }) => isWanted(number));
  if (storeFaults.length + processFaults.length === 0) return true;
  await using worker = await buildProgram(WORKER);
  await using cluster = await startFaultCluster({ withClocks: isWanted(13) });
  console.log(`leasehold: ${cluster.description}; seed ${seed}`);
  const ordeal = {
    cluster,
    program: worker.path,
    storeFaults,
    processFaults,
    keepsJournals: keepJournals,
    only,
  };
  const summary = new Summary();
  try {
    const endMs = performance.now() + minutes * 60_000;
    const goesOn = (round: number): boolean =>
      onlyRound === undefined ? performance.now() < endMs && summary.violations === 0 : round === onlyRound;
    for (let round = onlyRound ?? 0; goesOn(round); round += 1) {
      const durationMs =
        onlyRound === undefined ? Math.min(ROUND_MS, Math.max(10_000, endMs - performance.now())) : ROUND_MS;
      const result = await runOrdeal(ordeal, round, seed, durationMs);
      summary.take(result);
      report(round, result);
    }
  } catch (error) {
    console.error(error);
    return false;
  } finally {
    console.log(summary.lines().join('\n'));
  }
  return summary.violations === 0;
}

function report(round: number, result: RoundResult): void {
  tellLeftOut(result.missing);
  console.log(
    `round ${round}, seed ${result.seed}: ${result.requests} requests, ${result.grants.length} grants, ` +
      `${result.violations.length} violations`,
  );
  for (const { invariant, checker, what } of result.violations.slice(0, 20)) {
    console.log(`  ${invariant} (${checker}) ${what}`);
  }
  if (result.violations.length > 0 || keepJournals === true) console.log(`  ${whereAndHow(result)}`);
}

const isGood = await runRounds();
// A single round is repeated for its own findings, so the test files do not run.
process.exitCode = (onlyRound !== undefined || runTests()) && isGood ? 0 : 1;
