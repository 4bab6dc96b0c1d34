/** The server's time, and how old the shown rows are, both in ms. */
export interface Now {
  readonly ms: number;
  readonly ageMs: number;
}

/**
 * If the rows are older than this, in ms, the time left of a lease is not shown: the holder may have extended the lease
 * since, and the old time left would look like a loss.
 */
const OLD_MS = 3_000;

export const isOld = ({ ageMs }: Now): boolean => ageMs > OLD_MS;

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** A time span for people: `0.4s`, `12s`, `3m20s`, `5h07m`, `2d03h`. */
export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)}s`;
  if (seconds < 60) return `${String(Math.floor(seconds))}s`;
  if (seconds < 3_600) return `${String(Math.floor(seconds / 60))}m${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${String(Math.floor(seconds / 3_600))}h${two((seconds % 3_600) / 60)}m`;
  return `${String(Math.floor(seconds / 86_400))}d${two((seconds % 86_400) / 3_600)}h`;
}

/** The local time of day, with seconds. For another day than that of `nowMs`: the date and the time without seconds. */
export function clockTime(ms: number, nowMs: number): string {
  const time = new Date(ms);
  const hour = `${two(time.getHours())}:${two(time.getMinutes())}`;
  if (time.toDateString() === new Date(nowMs).toDateString()) return `${hour}:${two(time.getSeconds())}`;
  return `${time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${hour}`;
}

export const count = (value: number): string => value.toLocaleString('en');

export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
