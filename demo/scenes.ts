import pc from 'picocolors';
import { median } from '../benchmarks/statistics.js';
import { monotonicMs, sleep } from '../benchmarks/worker-process.js';
import { paint } from './crew.js';
import type { Crew } from './crew.js';
import type { HandOver, HoldRecord } from './history.js';
import type { Screen } from './screen.js';

const PATIENCE_MS = 10_000;
const LINE_MS = 500;

/** One line a hold: slow enough to read. */
export async function showHolds(crew: Crew, screen: Screen): Promise<void> {
  screen.heading(
    '1  Who holds the lock',
    '   Each worker holds for 350 ms. Whoever releases gives the lock to the first in the queue, in',
    '   the same write: nobody retries, and the order is that of asking.',
  );
  crew.pace(350, 20);
  const { history } = crew;
  for (let index = 0; index < 2 * crew.size; index += 1) {
    // Complete once it is known how the hold before it ended.
    const hold = await crew.until(() => {
      const before = history.holds[index - 1];
      return index > 0 && before?.endedMs === undefined ? undefined : history.holds[index];
    }, PATIENCE_MS);
    screen.event(`${paint(hold.worker)} holds  token ${hold.token}  ${howItBegan(crew, hold)}`);
  }
}

function howItBegan({ history }: Crew, hold: HoldRecord): string {
  const handOver = history.handOvers.find(({ to }) => to === hold);
  if (handOver === undefined) return pc.dim('the lock was free');
  const waitedMs = (hold.grantedMs - hold.askedMs).toFixed(0);
  const { from, tookMs } = handOver;
  return `from ${paint(from.worker)} in ${pc.bold(`${tookMs.toFixed(1)} ms`)}  ${pc.dim(`waited ${waitedMs} ms`)}`;
}

/** One line per half a second: the order of the holders, and the median hand-over. Returns all hand-overs. */
export async function showFullSpeed(crew: Crew, screen: Screen): Promise<readonly HandOver[]> {
  screen.heading(
    '2  Full speed',
    '   Each letter is one hold of 15 ms. Whoever releases asks again and stands last in the queue, so the',
    '   letters go round. Hand-over: from the release call in one process to the grant in another.',
  );
  crew.pace(15, 0);
  // The present hold is still a long one.
  const pacedMs = monotonicMs();
  const first = await crew.until(
    () => crew.history.holds.find(({ grantedMs }) => grantedMs > pacedMs),
    PATIENCE_MS,
  );
  const beganMs = first.grantedMs;
  for (let line = 0; line < 10; line += 1) {
    const fromMs = beganMs + line * LINE_MS;
    while (monotonicMs() < fromMs + LINE_MS) {
      await Promise.race([crew.failure, sleep(50)]);
      screen.live(describeSpan(crew, fromMs, fromMs + LINE_MS));
    }
    screen.event(describeSpan(crew, fromMs, fromMs + LINE_MS));
  }
  // Those of the first line may have waited for a slow hold.
  return crew.history.handOvers.filter(({ to }) => to.askedMs >= beganMs + LINE_MS);
}

/** Room for the letters of one line; a faster server's are counted, not shown. */
const MAX_LETTERS = 36;

function describeSpan({ history }: Crew, fromMs: number, toMs: number): string {
  const isWithin = ({ grantedMs }: HoldRecord): boolean => grantedMs >= fromMs && grantedMs < toMs;
  const holds = history.holds.filter(isWithin);
  const tookMs = median(
    history.handOvers.filter(({ to }) => isWithin(to)).map((handOver) => handOver.tookMs),
  );
  const letters = holds.slice(0, MAX_LETTERS).map(({ worker }) => paint(worker));
  const padding = ' '.repeat(MAX_LETTERS - letters.length);
  const handOver = Number.isNaN(tookMs) ? '' : `  hand-over ${pc.bold(`${tookMs.toFixed(1)} ms`)}`;
  return `${letters.join('')}${padding}  ${String(holds.length).padStart(2)} grants${handOver}`;
}
