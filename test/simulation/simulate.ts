// Runs the whole library in simulated replica sets, one seed after the other, until the time is over or a judge finds
// something.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { drawPlan } from './plan/draw-plan.js';
import type { Part, Wanted } from './plan/wanted.js';
import type { OtherFaultKind, Plan } from './plan/plan.js';
import { inWords, Report } from './report.js';
import { hashOf, runPlan, traceOf } from './run-plan.js';
import type { RunResult } from './run-plan.js';
import { shrink } from './shrink.js';

/** The one argument, as JSON. */
export interface SimulateOptions {
  readonly seed?: number;
  readonly runs?: number;
  readonly minutes?: number;
  readonly only?: readonly Part[];
  /** Faults that happen beside those of the seed. */
  readonly beside?: readonly OtherFaultKind[];
  /** The number of processes in each world. */
  readonly processes?: number;
  /** The longest pause between two requests of one caller, in ms. */
  readonly idle?: number;
  /** The longest pause of candidates and jobs between two steps, in ms. */
  readonly pace?: number;
  /** For how long faults happen in each world, in seconds. */
  readonly length?: number;
  readonly twice: boolean;
  readonly plan?: string;
  readonly shrink: boolean;
}

/** npm runs its commands in the folder of the project. */
const FOLDER = join(process.cwd(), '.cache/simulation');
const SHRINK_MS = 120_000;
const SHOWN = 10;

const options = JSON.parse(process.argv[2] ?? '{}') as SimulateOptions;

const wanted: Wanted = {
  only: options.only,
  beside: options.beside,
  count: options.processes,
  idleMs: options.idle,
  paceMs: options.pace,
  durationMs: options.length === undefined ? undefined : options.length * 1_000,
};

/** The options that draw the same plans again. */
const inOptions = (['only', 'beside', 'processes', 'idle', 'pace', 'length'] as const)
  .flatMap((name) => (options[name] === undefined ? [] : [` --${name} '${String(options[name])}'`]))
  .join('');

/** Writes the plan and the trace of a run that failed, and says how to repeat it. */
async function keep(name: string, { evidence }: RunResult): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const path = join(FOLDER, `${name}.json`);
  await writeFile(path, JSON.stringify(evidence.plan, null, 2));
  await writeFile(join(FOLDER, `${name}.trace`), [...traceOf(evidence)].join('\n'));
  console.log(`  again: npm run simulate -- --plan ${path}`);
  console.log(`  trace: ${join(FOLDER, `${name}.trace`)}`);
}

function tell({ violations }: Pick<RunResult, 'violations'>): void {
  for (const violation of violations.slice(0, SHOWN)) console.log(`  ${inWords(violation)}`);
  if (violations.length > SHOWN) console.log(`  and ${violations.length - SHOWN} more`);
}

async function tellFailure(result: RunResult): Promise<void> {
  const { plan } = result.evidence;
  console.log(`seed ${plan.seed}: ${result.violations.length} violations`);
  console.log(`  again: npm run simulate -- --seed ${plan.seed}${inOptions}`);
  tell(result);
  if (!options.shrink) return;
  const smaller = await shrink(plan, result.violations, SHRINK_MS);
  const { faults, processes } = smaller.plan;
  console.log(`  smaller after ${smaller.runs} runs: ${faults.length} faults, ${processes.length} processes`);
  tell(smaller);
  await keep(`seed-${plan.seed}`, await runPlan(smaller.plan));
}

/** The plan in this file; `undefined` if there is none, which the user is told. */
async function planIn(path: string): Promise<Plan | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Plan;
  } catch (error) {
    console.error(`leasehold: there is no plan in ${path}: ${(error as Error).message}`);
    return undefined;
  }
}

/** The number of violations; 1 if there is no plan. */
async function repeatPlan(path: string): Promise<number> {
  const plan = await planIn(path);
  if (plan === undefined) return 1;
  const result = await runPlan(plan);
  console.log(
    `seed ${result.evidence.plan.seed}: ${result.violations.length} violations, trace ${hashOf(result.evidence)}`,
  );
  tell(result);
  await keep('again', result);
  return result.violations.length;
}

/** Stacks of errors take a tenth of the time, and the run that repeats a seed has them. */
async function withoutStacks(plan: Plan): Promise<RunResult> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await runPlan(plan);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function runSeeds(): Promise<number> {
  const { seed, runs, minutes, twice } = options;
  const first = seed ?? Math.floor(Math.random() * 0x7f_00_00_00);
  const most = runs ?? (minutes !== undefined ? Infinity : seed === undefined ? 100 : 1);
  const startMs = performance.now();
  const endMs = startMs + (minutes ?? Infinity) * 60_000;
  const report = new Report();
  const traces = createHash('sha256');
  let differing = 0;
  console.log(`leasehold: simulation, seeds from ${first}`);
  for (let run = 0; run < most && performance.now() < endMs; run += 1) {
    const plan = drawPlan(first + run, wanted);
    const result = await withoutStacks(plan);
    report.take(result);
    if (most === 1) console.log(`trace ${hashOf(result.evidence)}`);
    if (twice) {
      const hash = hashOf(result.evidence);
      traces.update(hash);
      if (hashOf((await withoutStacks(plan)).evidence) !== hash) {
        differing += 1;
        console.log(`seed ${plan.seed}: the second run has another trace`);
      }
    }
    if (result.violations.length > 0) await tellFailure(result);
  }
  for (const line of report.lines(performance.now() - startMs)) console.log(line);
  for (const [what, count] of report.seen) console.log(`  ${String(count).padStart(5)} ${what}`);
  if (twice) console.log(`each seed twice: ${differing} differ; all traces ${traces.digest('hex')}`);
  console.log(`violations: ${report.violations}`);
  return report.violations + differing;
}

const violations = options.plan === undefined ? await runSeeds() : await repeatPlan(options.plan);
process.exitCode = violations === 0 ? 0 : 1;
