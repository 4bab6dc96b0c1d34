import { Child } from '../../../lab/processes/child.js';

/** One try of one machine to run the line at one instant. Times are those of the wall clock, in ms. */
export interface Attempt {
  readonly instant: number;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly code: number | null;
}

export interface CrontabOptions {
  readonly line: string;
  /** The first instant. Instant n is so many periods later. */
  readonly firstMs: number;
  readonly periodMs: number;
  readonly instants: number;
  /** How much the clock of the machine is behind the others. */
  readonly behindMs: number;
  readonly env: NodeJS.ProcessEnv;
}

/** Starts the line by the shell at each instant, as cron does, unless the one before still runs: a busy machine would drown. */
const LOOP = `
  const { spawn } = require('node:child_process');
  const { line, firstMs, periodMs, instants, behindMs } = JSON.parse(process.env.CRONTAB);
  let isBusy = false;
  const begin = (instant) => {
    if (isBusy) return;
    isBusy = true;
    const startedMs = Date.now();
    const child = spawn('/bin/sh', ['-c', line], { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, INSTANT: instant } });
    child.on('close', (code) => {
      isBusy = false;
      console.log(JSON.stringify({ instant, startedMs, endedMs: Date.now(), code }));
    });
  };
  for (let at = 0; at < instants; at += 1) setTimeout(begin, firstMs + at * periodMs + behindMs - Date.now(), at);
`;

/** A machine with one line in its crontab. Its attempts are the lines of JSON that it prints. */
export const machine = ({ env, ...crontab }: CrontabOptions): Child =>
  new Child(['-e', LOOP], { env: { ...env, CRONTAB: JSON.stringify(crontab) } });

export const attemptsOf = ({ stdout }: Child): readonly Attempt[] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Attempt);
