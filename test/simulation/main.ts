// Bundles the simulation into one file and runs it: several times faster than its sources.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { Command, InvalidArgumentError } from 'commander';

import { buildProgram } from '../../lab/processes/program.js';
import { OTHER_FAULT_KINDS } from './plan/plan.js';
import type { OtherFaultKind } from './plan/plan.js';
import { isPart, PARTS } from './plan/wanted.js';
import type { Part } from './plan/wanted.js';
import type { SimulateOptions } from './simulate.js';
import { positive } from '../support/option-values.js';

function seedOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 31) {
    throw new InvalidArgumentError('It must be a whole number below 2^31.');
  }
  return value;
}

function partsOf(text: string): readonly Part[] {
  return text.split(',').map((word) => {
    if (isPart(word)) return word;
    throw new InvalidArgumentError(`There is no part ${word}, only ${Object.keys(PARTS).join(', ')}.`);
  });
}

function faultsOf(text: string): readonly OtherFaultKind[] {
  return text.split(',').map((words) => {
    const kind = OTHER_FAULT_KINDS.find((one) => one === words.trim());
    if (kind !== undefined) return kind;
    throw new InvalidArgumentError(
      `There is no fault ${words.trim()}, only ${OTHER_FAULT_KINDS.join(', ')}.`,
    );
  });
}

const command = new Command('simulate')
  .description(
    'Lets simulated processes use simulated replica sets under faults, and judges what came of it.',
  )
  .option('--seed <number>', 'this seed; with --runs or --minutes, the first one', seedOf)
  .option('--runs <number>', 'so many seeds', positive)
  .option('--minutes <number>', 'as many seeds as fit into this time', positive)
  .option('--only <parts>', `these parts alone: ${Object.keys(PARTS).join(',')}`, partsOf)
  .option(
    '--beside <faults>',
    `these faults beside those of the seed: ${OTHER_FAULT_KINDS.join(',')}`,
    faultsOf,
  )
  .option('--processes <number>', 'so many processes in each world', positive)
  .option('--idle <ms>', 'the longest pause of a caller between two requests', positive)
  .option('--pace <ms>', 'the longest pause of candidates and jobs; bursts come seldom', positive)
  .option('--length <seconds>', 'for how long faults happen in each world', positive)
  .option('--twice', 'run each seed twice, and compare the traces', false)
  .option('--node <path>', 'the Node that runs them; default: this one', process.execPath)
  .option('--plan <path>', 'the plan in this file, as a failing run has written it')
  .option('--no-shrink', 'do not search for a smaller plan that fails alike')
  .parse();

const { node, ...options } = command.opts<SimulateOptions & { readonly node: string }>();
await using program = await buildProgram(new URL('./simulate.ts', import.meta.url));
// A larger space for new objects saves the garbage collector work: a tenth of the processor time (measured).
const args = ['--enable-source-maps', '--max-semi-space-size=64', program.path, JSON.stringify(options)];
const child = spawn(node, args, { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
