import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The longest time that a timer of Node.js can wait, in ms. With a longer time, the timer fires at once. */
const MAX_MS = 2 ** 31 - 1;

/** Reads `250ms`, `30s`, `5m` or `2h` as whole milliseconds, rounded up; also a plain 0. */
export function duration(text: string): number {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('A duration is a number with a unit: 250ms, 30s, 5m or 2h.');
  if (ms > MAX_MS) throw new InvalidArgumentError('A duration is at most 596h.');
  return Math.ceil(ms);
}

export function positiveDuration(text: string): number {
  const ms = duration(text);
  if (ms >= 100) return ms;
  throw new InvalidArgumentError('It must be at least 100ms.');
}

export function hostToListenOn(text: string): string {
  // With an empty host, Node.js listens on all addresses.
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  if (text.includes('%')) throw new InvalidArgumentError('A URL cannot have an address with a zone.');
  return text;
}

/** Makes a function that reads an integer from `min` to `max`. */
export const integer =
  (min: number, max: number): ((text: string) => number) =>
  (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
  };

/** Writes a time span for people: `250ms`, `4.2s`, `3m20s`, `5h07m`, `2d03h`. */
export function shownDuration(ms: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 1) return `${Math.round(seconds * 1_000)}ms`;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${two((seconds % 3_600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d${two((seconds % 86_400) / 3_600)}h`;
}

export const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;
