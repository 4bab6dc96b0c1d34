import { BUSY_MACHINE_MS, within } from '../../../lab/patience.js';
import type { Child } from '../../../lab/processes/child.js';
import type { InTerminal, Result } from './command-line.js';

/** Prints, as the last line of stderr, how long ago the process has opened its first connection. */
const SAYS_TIME = `
  import { subscribe } from 'node:diagnostics_channel';
  import { writeSync } from 'node:fs';
  let beganMs;
  subscribe('net.client.socket', () => { beganMs ??= performance.now(); });
  process.on('exit', () => writeSync(2, 'connected-for ' + Math.round(performance.now() - beganMs) + '\\n'));
`;

/**
 * Makes the command line measure its time from its first connection to its end. The start of a process is no part of
 * that time: on a busy machine it may take longer than what is measured.
 */
export const MEASURES_ITSELF = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(SAYS_TIME)}`,
} as const;

const TIME_LINE = /connected-for (\d+)\r?\n/;

const timeIn = (text: string): number => Number(TIME_LINE.exec(text)?.[1]);

/** The result of a command that measures itself, and its time from the first connection to the end, in ms. */
export async function measuredResultOf(
  child: Child<string>,
): Promise<Result & { readonly connectedMs: number }> {
  const { code, signal } = await within(BUSY_MACHINE_MS, 'the command ends', child.ended);
  const { stdout, stderr } = child;
  return { code, signal, stdout, stderr: stderr.replace(TIME_LINE, ''), connectedMs: timeIn(stderr) };
}

/** The same of a command in a terminal, which shows both streams. */
export async function measuredScreenOf(
  terminal: InTerminal,
): Promise<{ readonly code: number | null; readonly screen: string; readonly connectedMs: number }> {
  const code = await terminal.exitCode();
  return { code, screen: terminal.stdout.replace(TIME_LINE, ''), connectedMs: timeIn(terminal.stdout) };
}
