// Draws the pictures of docs/dashboard.md: the page of the dashboard at three widths, as Chromium shows it while locks of a
// replica set in memory move. `npm run dashboard:record`. A picture has the page's own elements and style, so that it is
// text, and follows the colour scheme of the reader. `--png FOLDER` also writes the page in both schemes, to look at.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';

import { startBrowser } from '../lab/browser.js';
import { startWebServer } from '../src/cli/web-server.js';
import { dashboard } from '../src/dashboard/index.js';
import { LockProvider } from '../src/index.js';
import { MemoryReplicaSet } from '../src/testing/index.js';

interface Picture {
  readonly file: string;
  readonly width: number;
  readonly height: number;
}

const PICTURES: readonly Picture[] = [
  { file: 'dashboard-400.svg', width: 400, height: 1_150 },
  { file: 'dashboard.svg', width: 1_280, height: 1_100 },
  { file: 'dashboard-3840.svg', width: 3_840, height: 2_160 },
];

/** Mutexes that all pods want, beside the locks of other kinds. */
const ORDERS = 28;

/** How long the locks move before the picture: long enough for hand-overs in each second of the line of a minute. */
const MOVES_MS = 65_000;

interface Shown {
  readonly style: string;
  readonly body: string;
}

/**
 * Runs in the page. A text, because scripts are compiled without the types of a page. Lengths and conditions that depend
 * on the width of the window are resolved: within a picture, they would depend on the width at which a reader sees it.
 */
const READ_PAGE = `(() => {
  const copy = document.body.cloneNode(true);
  const rows = document.querySelectorAll('tr');
  for (const [at, row] of [...copy.querySelectorAll('tr')].entries())
    if (rows[at].getBoundingClientRect().top > innerHeight) row.remove();
  for (const element of copy.querySelectorAll('script, noscript, #notice')) element.remove();
  const rules = [...document.styleSheets[0].cssRules].flatMap((rule) => {
    if (!/width/.test(rule.conditionText ?? '')) return [rule.cssText];
    return matchMedia(rule.conditionText).matches ? [...rule.cssRules].map(({ cssText }) => cssText) : [];
  });
  const pixels = (_, hundredths) => \`\${(hundredths * innerWidth) / 100}px\`;
  return {
    style: rules.join('\\n').replaceAll(/([\\d.]+)vw/g, pixels),
    body: new XMLSerializer().serializeToString(copy),
  };
})()`;

const { values } = parseArgs({ options: { png: { type: 'string' } } });

const set = new MemoryReplicaSet({ seed: 7 });
const providers: LockProvider[] = [];
const end = new AbortController();
try {
  await begin();
  await using server = await startWebServer(
    { host: '127.0.0.1', port: 0 },
    dashboard(provider('dashboard'), { allowRevoke: true }),
  );
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
    await page.goto(server.url);
    await pause(MOVES_MS);
    await page.getByRole('button', { name: 'invoice:42', exact: true }).click();
    await page.locator('tr.details').first().waitFor();
    for (const picture of PICTURES) {
      await page.setViewportSize(picture);
      await page.evaluate('scrollTo(0, 0)');
      // The page writes the ages of an open row, and of rows that come into the window, with its next tick.
      await pause(1_000);
      const file = fileURLToPath(new URL(`../docs/${picture.file}`, import.meta.url));
      writeFileSync(file, await drawn(page, picture));
      console.log(`leasehold: docs/${picture.file}`);
      if (values.png !== undefined) await photograph(page, picture, values.png);
    }
  } finally {
    await browser.close();
  }
} finally {
  end.abort();
  await Promise.all(providers.map((locks) => locks.close({ drainMs: 0 })));
  await set.close();
}

function provider(label: string): LockProvider {
  const locks = new LockProvider(set.db('app'), { label });
  locks.on('storeError', ({ error }) => {
    console.error(error);
  });
  providers.push(locks);
  return locks;
}

/** Three pods and what they do: payments, an import with a queue, an API with a limit, a leader, and two jobs. */
async function begin(): Promise<void> {
  const pods = ['pod-1', 'pod-2', 'pod-3'].map(provider);
  for (const [index, locks] of pods.entries()) {
    // The most contended lock, which stands first.
    for (let caller = 0; caller < 3; caller += 1) void work(locks, 'invoice:42', { index, forMs: 700 });
    for (const [turn, name] of ['invoice:57', 'import:acme'].entries()) {
      void work(locks, name, { index, forMs: 600 + 350 * ((index + turn) % 3) + 90 * turn });
    }
    for (let order = 0; order < ORDERS; order += 1) {
      void work(locks, `order:${20_417 + 31 * order}`, {
        index,
        forMs: 900 + 80 * ((7 * order + index) % 11),
      });
    }
    for (let caller = 0; caller < 3; caller += 1) void callApi(locks);
    void readIndex(locks, index);
    await locks
      .createLeaderElection('mail-sender', {
        candidateId: `pod-${index + 1}`,
        value: `10.0.0.${index + 7}:8080`,
      })
      .start();
    await locks
      .createScheduledJob('daily-report', {
        cron: '30 6 * * *',
        timeZone: 'Europe/Berlin',
        run: () => undefined,
      })
      .start();
    await locks.createScheduledJob('rates', { everyMs: 5_000, run: () => pause(300) }).start();
  }
}

/** Does this until the picture is drawn. The end of the recording is no failure. */
async function again(act: () => Promise<unknown>): Promise<void> {
  try {
    while (!hasEnded()) await act();
  } catch (error) {
    if (!hasEnded()) throw error;
  }
}

function hasEnded(): boolean {
  return end.signal.aborted;
}

async function work(
  locks: LockProvider,
  name: string,
  { index, forMs }: { readonly index: number; readonly forMs: number },
): Promise<void> {
  await again(async () => {
    const why = ['charge', 'refund', 'audit'][index] ?? name;
    await locks.useMutex(name, () => pause(forMs), { why });
    await pause(150);
  });
}

async function callApi(locks: LockProvider): Promise<void> {
  await again(async () => {
    await locks.createSemaphore('rates-api', 5).use(() => pause(400), { why: 'GET /rates' });
    await pause(50);
  });
}

async function readIndex(locks: LockProvider, index: number): Promise<void> {
  await again(async () => {
    const lock = locks.createReaderWriterLock('search-index');
    if (index === 0) await lock.useWrite(() => pause(600), { why: 'rebuild' });
    else await lock.useRead(() => pause(900), { why: 'search' });
    await pause(300);
  });
}

/** The page as an SVG that holds its elements as XHTML. */
async function drawn(page: Page, { width, height }: Picture): Promise<string> {
  const { style, body } = await page.evaluate<Shown>(READ_PAGE);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>The dashboard at a width of ${width} pixels: locks with their holders and waiters</title>`,
    `<style><![CDATA[${style}]]></style>`,
    `<foreignObject width="${width}" height="${height}">${body}</foreignObject>`,
    '</svg>\n',
  ].join('\n');
}

async function photograph(page: Page, { width }: Picture, folder: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(folder, `${colorScheme}-${width}.png`) });
  }
}
