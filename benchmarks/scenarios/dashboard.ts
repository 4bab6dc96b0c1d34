// What the dashboard costs its own process, and how smooth its page is, while many locks are stored and some move.
import { setTimeout as sleep } from 'node:timers/promises';

import type { Page } from 'playwright-core';

import type { LockHandle, LockProvider } from '../../src/index.js';
import { chromiumPath, startBrowser } from '../../lab/browser.js';
import { eventually, later } from '../../lab/patience.js';
import { Child } from '../../lab/processes/child.js';
import { fromSources } from '../../lab/processes/program.js';
import { sum } from '../../lab/statistics.js';
import { RemoteProcess } from '../processes/remote-process.js';
import { processorMsBetween, threadTimesOf } from '../processor-time.js';
import { defineScenario } from '../scenario.js';

/** Long enough that extensions add little to the updates that are asked for. */
const LEASE_MS = 600_000;

/** A hand-over is two updates: the release, and the next request of the process that released. */
const UPDATES_PER_HAND_OVER = 2;

const AT_ONCE = 256;

/** Blocks of the measured time, which should agree. */
const BLOCKS = 5;

/** How many times the floor the dashboard may take. It keeps all locks sorted and counted, and looks at their ends. */
const BOUND = 2;

/** Counts tasks of more than 50 ms, which Chromium reports, and notes the longest time between two frames. */
const OBSERVE = `
  window.seen = { longTasks: 0, longestTaskMs: 0, longestFrameMs: 0, frames: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      seen.longTasks += 1;
      seen.longestTaskMs = Math.max(seen.longestTaskMs, duration);
    }
  }).observe({ type: 'longtask' });
  let before;
  const frame = (now) => {
    seen.frames += 1;
    seen.longestFrameMs = Math.max(seen.longestFrameMs, now - (before ?? now));
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
`;

/** A table of as many rows. Twice a second, as many cells of it get another text as the dashboard changes on a screen. */
const BARE_TABLE = `
  <table><tbody></tbody></table>
  <script>
    const body = document.querySelector('tbody');
    for (let row = 0; row < 100; row += 1) {
      const cells = body.insertRow();
      for (let column = 0; column < 9; column += 1) cells.insertCell().textContent = 'lock:' + row * column;
    }
    let round = 0;
    setInterval(() => requestAnimationFrame(() => {
      round += 1;
      for (const row of [...body.rows].slice(0, 30))
        for (const column of [2, 3, 4, 6, 7]) row.cells[column].textContent = 'worker ' + round * column;
    }), 500);
  </script>
`;

interface Smoothness {
  readonly longTasks: number;
  readonly longestTaskMs: number;
  readonly longestFrameMs: number;
  readonly frames: number;
}

interface Seen extends Smoothness {
  /**
   * How long the scripts, styles and layouts of the page took, in ms. Painting is not in it: without a graphics
   * processor, the browser paints on the processor.
   */
  readonly workMs: number;
}

/** Returns a function that tells what was seen of the page since this call. */
async function watch(page: Page): Promise<() => Promise<Seen>> {
  await page.evaluate(OBSERVE);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const workMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    const names = ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'];
    return 1_000 * sum(metrics.filter(({ name }) => names.includes(name)).map(({ value }) => value));
  };
  const before = await workMs();
  return async () => ({ ...(await page.evaluate<Smoothness>('seen')), workMs: (await workMs()) - before });
}

/** One contended lock: one process holds it, and another one waits. */
interface Contended {
  readonly request: () => Promise<LockHandle>;
  held: LockHandle;
  next: Promise<LockHandle>;
}

export const dashboard = defineScenario({
  name: 'dashboard',
  about: 'the process of leasehold dashboard and its page in Chromium, while locks move',
  sizes: [1],
  settings: {
    stored: { meaning: 'locks that are stored', usual: 10_000 },
    contended: { meaning: 'locks of them that have a holder and a waiter', usual: 500 },
    updates: { meaning: 'updates of them in a second', usual: 60 },
    seconds: { meaning: 'how long it is measured, in seconds', usual: 30, thorough: 120 },
    viewers: { meaning: 'open pages', usual: 1 },
  },
  async run({ settings: { stored, contended, updates, seconds, viewers }, report, bench }) {
    if (chromiumPath === undefined) throw new Error('the scenario dashboard needs Chromium');
    const locks = bench.provider({ leaseMs: LEASE_MS, label: 'worker' });
    const nameOf = (at: number): string => `lock:${String(at).padStart(6, '0')}`;
    for (let first = contended; first < stored; first += AT_ONCE) {
      const names = Array.from({ length: Math.min(AT_ONCE, stored - first) }, (_, at) => nameOf(first + at));
      await Promise.all(names.map(async (name) => (await locks.acquireMutex(name)).release()));
    }
    const all = await Promise.all(Array.from({ length: contended }, (_, at) => contend(locks, nameOf(at))));

    await using served = new Child([
      ...fromSources('src/cli/main.ts'),
      ...['dashboard', '--uri', bench.place.uri, '--db', bench.place.dbName],
    ]);
    const url = await eventually('the dashboard is served', () => /^http\S+$/m.exec(served.stdout)?.[0]);
    await using browser = await startBrowser();
    const pages = await Promise.all(Array.from({ length: viewers }, () => browser.newPage()));
    const before = threadTimesOf([served.pid]);
    for (const page of pages) await page.goto(url);
    for (const page of pages) await page.waitForSelector('tr.row.contended');
    await eventually('it is live', async () => (await pages[0]?.textContent('#state')) === 'live');
    report.note(
      'processor time until the first page is complete, ms',
      processorMsBetween(before, threadTimesOf([served.pid])),
    );

    await using floor = await RemoteProcess.start(bench.place);
    const floorPort = await floor.ask('serveChanges', 'distributed.locks');
    const moving = new AbortController();
    const reading = readAll(`http://127.0.0.1:${String(floorPort)}/`, moving.signal);
    const moved = move(all, updates / UPDATES_PER_HAND_OVER, moving.signal);
    // Not measured: the first seconds, in which code is compiled.
    await sleep(10_000);
    const bare = await browser.newPage();
    await bare.setContent(BARE_TABLE);
    const [bareEnd, ...ends] = await Promise.all([watch(bare), ...pages.map(watch)]);
    const [startedMs, handedOverBefore] = [performance.now(), moved.count];
    const spent: Spent[] = [];
    for (let block = 0; block < BLOCKS; block += 1)
      spent.push(await spentDuring((seconds * 1_000) / BLOCKS, served.pid, floor.pid));
    const tookMs = performance.now() - startedMs;
    const handOvers = moved.count - handedOverBefore;
    const seen = await Promise.all(ends.map((end) => end()));
    const bareSeen = await bareEnd();
    moving.abort();
    await reading;
    await locks.close({ drainMs: 0 });

    report.note('updates a second', (1_000 * UPDATES_PER_HAND_OVER * handOvers) / tookMs);
    const boardMs = sum(spent.map((block) => block.boardMs));
    report.note(
      'processor time of the process that serves the page, % of one core',
      (100 * boardMs) / tookMs,
    );
    report.blockRatios(
      'processor time, the dashboard / the changed locks as text',
      spent.map((block) => block.boardMs / block.floorMs),
      '≤',
      BOUND,
    );
    report.note(
      'script, styles and layout of the page, ms in a second',
      (1_000 * Math.max(...seen.map(({ workMs }) => workMs))) / tookMs,
    );
    report.note('the same of a bare table that changes as often', (1_000 * bareSeen.workMs) / tookMs);
    report.note('tasks of the page of more than 50 ms', Math.max(...seen.map(({ longTasks }) => longTasks)));
    report.note(
      'longest task of the page of more than 50 ms',
      Math.max(...seen.map(({ longestTaskMs }) => longestTaskMs)),
    );
    report.note('tasks of the bare table of more than 50 ms', bareSeen.longTasks);
    report.note(
      'longest time between two frames, ms',
      Math.max(...seen.map(({ longestFrameMs }) => longestFrameMs)),
    );
    report.note('frames a second', Math.min(...seen.map(({ frames }) => (1_000 * frames) / tookMs)));
  },
});

/** Processor times, in ms. */
interface Spent {
  readonly boardMs: number;
  readonly floorMs: number;
}

/** The processor time of the dashboard and of its floor during the same time. */
async function spentDuring(ms: number, boardPid: number, floorPid = 0): Promise<Spent> {
  const [board, floor] = [threadTimesOf([boardPid]), threadTimesOf([floorPid])];
  await sleep(ms);
  return {
    boardMs: processorMsBetween(board, threadTimesOf([boardPid])),
    floorMs: processorMsBetween(floor, threadTimesOf([floorPid])),
  };
}

/** Reads and forgets, until the signal. */
async function readAll(url: string, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await fetch(url, { signal });
    await body?.pipeTo(new WritableStream());
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function contend(locks: LockProvider, name: string): Promise<Contended> {
  const mutex = locks.createMutex(name, { leaseMs: LEASE_MS });
  const request = (): Promise<LockHandle> => later(mutex.acquire({ why: 'a reason of usual length' }));
  return { request, held: await request(), next: request() };
}

/** Hands one lock after the other over, so many in a second, until the signal. */
function move(all: Contended[], perSecond: number, signal: AbortSignal): { readonly count: number } {
  const moved = { count: 0 };
  let at = 0;
  const timer = setInterval(() => {
    const one = all[at % all.length];
    at += 1;
    if (one === undefined) return;
    void handOver(one).then(
      () => (moved.count += 1),
      // The provider closes at the end.
      () => undefined,
    );
  }, 1_000 / perSecond);
  signal.addEventListener('abort', () => {
    clearInterval(timer);
  });
  return moved;
}

async function handOver(one: Contended): Promise<void> {
  await one.held.release();
  one.held = await one.next;
  one.next = one.request();
}
