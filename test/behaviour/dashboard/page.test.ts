import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { startWebServer } from '../../../src/cli/web-server.js';
import { dashboard } from '../../../src/dashboard/index.js';
import type { BoardMessage, LockRow } from '../../../src/dashboard/wire.js';
import { chromiumPath } from '../../../lab/browser.js';
import { eventually, later } from '../../../lab/patience.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { keepHold } from '../../support/keep-hold.js';
import { ownDatabase } from '../../support/test-provider.js';
import { contrasts } from './contrasts.js';
import { useBrowser } from '../../support/use-browser.js';
import { viewPage } from './viewed-page.js';
import { withoutSearches } from './without-searches.js';

const WIDTHS = [400, 1_280, 3_840];

const MARKUP = '<img src=x onerror=alert(1)>';

const HOSTILE = [MARKUP, '</script><script>alert(1)</script>', '"><svg onload=alert(1)>', 'x'.repeat(1_024)];

/** A hostile text, and how the page shows it. */
const ESCAPED = ['evil\u202egnp.exe\u0007', String.raw`evil\u{202e}gnp.exe\u{7}`] as const;

const overhang = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

describe.runIf(chromiumPath === undefined)('the page of the dashboard', () => {
  it('is not looked at', ({ skip }) => {
    expect(process.env['CI'], 'no Chromium is installed').toBeUndefined();
    skip('no Chromium is installed');
  });
});

describe.skipIf(chromiumPath === undefined)('the page of the dashboard', () => {
  const browser = useBrowser();

  it('shows locks that move, the most contended first, on a real server', async () => {
    const database = ownDatabase();
    const [a, b] = [await database.connected({ label: 'a' }), await database.connected({ label: 'b' })];
    const viewer = await viewPage(browser(), (await database.connected()).locks);
    await viewer.untilState('live');
    await eventually('the page says how to begin', async (see) =>
      see(await viewer.page.locator('#locks .empty').textContent())?.includes('npx leasehold run hello'),
    );
    const quiet = await a.locks.acquireMutex('quiet', { why: 'nothing' });
    await viewer.untilNames((names) => names.join() === 'quiet');
    const held = await a.locks.acquireMutex('busy', { why: 'import' });
    const waiting = later(b.locks.acquireMutex('busy', { why: 'export' }));
    await viewer.untilNames((names) => names.join() === 'busy,quiet');
    await eventually('the holder and the waiter are shown', async (see) => {
      const cells = see(await viewer.cells('busy'));
      return cells['Held by'] === 'aimport' && cells['Waiting'] === '1' && cells['Kind'] === 'mutex';
    });
    await held.release();
    const next = await waiting;
    await eventually('the hand-over is shown', async (see) => {
      const cells = see(await viewer.cells('busy'));
      return cells['Held by'] === 'bexport' && cells['Hand-overs'] === '1';
    });
    await Promise.all([next.release(), quiet.release()]);
    await eventually('it is free', async () => (await viewer.cells('quiet'))['Held by'] === 'free');
    expect(viewer.complaints).toEqual([]);
  });

  it('shows hostile names, reasons and labels as text, in both schemes and at three widths without a horizontal scroll', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected({ label: MARKUP });
    for (const name of [...HOSTILE, ESCAPED[0]]) await keepHold(locks.acquireMutex(name, { why: name }));
    const viewer = await viewPage(browser(), (await database.connected()).locks, { allowRevoke: true });
    await viewer.untilNames((names) => names.length === 5);
    expect((await viewer.names()).toSorted()).toEqual([...HOSTILE, ESCAPED[1]].toSorted());
    await viewer.open(MARKUP);
    const { page } = viewer;
    await eventually('the details are open', async () => (await page.locator('tr.details').count()) === 1);
    expect(await page.locator('tr.details').textContent()).toContain(MARKUP);
    expect(await page.locator('img, .lists svg, script:not(body > script)').count()).toBe(0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        expect([colorScheme, width, await page.evaluate(overhang)]).toEqual([colorScheme, width, 0]);
        expect(await contrasts(page)).toEqual([]);
      }
    }
    expect(viewer.complaints).toEqual([]);
  });

  it('is used by the keyboard alone: filter, rows, details, revoke', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected({ label: 'worker' });
    const held = [];
    for (const name of ['one', 'two', 'three']) held.push(await locks.acquireMutex(name));
    const viewer = await viewPage(browser(), (await database.connected()).locks, { allowRevoke: true });
    const { keyboard } = viewer.page;
    await viewer.untilNames((names) => names.join() === 'one,two,three');
    const focused = (): Promise<string> => viewer.page.evaluate('document.activeElement.textContent');
    await keyboard.press('ArrowDown');
    expect(await focused()).toBe('one');
    await keyboard.press('End');
    expect(await focused()).toBe('three');
    await keyboard.press('ArrowUp');
    expect(await focused()).toBe('two');
    expect(await viewer.page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await keyboard.press('Enter');
    expect(await viewer.page.locator('[aria-expanded=true]').textContent()).toBe('two');
    await viewer.untilSettled();
    await keyboard.press('Tab');
    await keyboard.type('by hand / twice');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    expect(await focused()).toBe('Revoke');
    await keyboard.press('Enter');
    const [, two] = held;
    await eventually('the holder hears it', () => two?.releaseRequested.aborted);
    expect(String(two?.releaseRequested.reason)).toContain('by hand / twice');
    await eventually('the page says so', async () =>
      (await viewer.page.locator('#notice').textContent())?.includes('was asked to release'),
    );
    await keyboard.press('Escape');
    await keyboard.press('Escape');
    expect(await viewer.page.locator('tr.details').count()).toBe(0);
    expect(await focused()).toBe('two');
    await keyboard.press('/');
    await keyboard.type('thr');
    await viewer.untilNames((names) => names.join() === 'three');
    await keyboard.press('Escape');
    await viewer.untilNames((names) => names.length === 3);
    expect(viewer.complaints).toEqual([]);
  });

  it('has no button that revokes while it is read-only', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected();
    await keepHold(locks.acquireMutex('x'));
    const viewer = await viewPage(browser(), locks);
    await viewer.untilNames((names) => names.join() === 'x');
    await viewer.open('x');
    await eventually('the details are open', async () => (await viewer.page.locator('.terms').count()) === 1);
    expect(await viewer.page.getByRole('button', { name: /revoke/i }).count()).toBe(0);
  });

  it('shows the age of rows that the server has not searched for a minute, no time left, and no late run', async () => {
    const set = new MemoryReplicaSet({ seed: 6 });
    whenTestEnds(() => set.close());
    const locks = new LockProvider(set.db('app'));
    whenTestEnds(() => locks.close({ drainMs: 0 }));
    const viewer = await viewPage(browser(), locks);
    const [holder, none] = [
      { who: 'a', process: 'a', token: 1 },
      { matching: 0, rows: [], order: [] },
    ];
    const row = {
      ...{ key: 1, name: 'x', kind: 'mutex', waiters: [], waiterCount: 0, handOvers: 0, losses: 0 },
      ...{ holders: [{ ...holder, id: 'id', since: 1e12, until: 1e12 + 599_999 }], holderCount: 1 },
    };
    const job = { key: 2, name: 'report', election: 'e', last: null, next: 1e12 - 60_000, missed: null };
    const totals = { locks: 1, elections: 0, jobs: 0, held: 1, waiting: 0, losses: 0 };
    const message: BoardMessage = {
      ...{ state: 'live', now: 1e12, mayRevoke: false, totals, handOvers: [] },
      found: {
        ...{ ageMs: 60_000, locks: { matching: 1, order: [1], rows: [row as LockRow] } },
        ...{ elections: none, jobs: { matching: 1, order: [2], rows: [job] } },
      },
    };
    const body = `retry: 600000\ndata: ${JSON.stringify(message)}\n\n`;
    await viewer.page.route(/\/events/, (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    await viewer.page.reload();
    await viewer.untilNames((names) => names.join() === 'x');
    await viewer.open('x');
    const details = viewer.page.locator('.terms div', { hasText: 'Time left' }).locator('dd');
    await eventually('no time left is shown', async (see) => see(await details.textContent()) === '–');
    expect((await viewer.cells('x'))['Time left']).toBe('–');
    expect((await viewer.cells('report'))['Next']).toMatch(/^(\d+ \w+ )?[\d:]+$/);
    expect(await viewer.page.locator('#locks .note').textContent()).toMatch(/, 1m\d\ds old$/);
  });

  it('says that the store is unavailable, and goes on when it is back', async () => {
    const set = new MemoryReplicaSet({ seed: 3 });
    whenTestEnds(() => set.close());
    const locks = new LockProvider(set.db('app'), { storeTimeoutMs: 500 });
    locks.on('storeError', () => undefined);
    locks.on('lost', () => undefined);
    whenTestEnds(() => locks.close({ drainMs: 0 }));
    const viewer = await viewPage(browser(), locks);
    await viewer.untilState('live');
    const held = await locks.acquireMutex('before');
    await viewer.untilNames((names) => names.join() === 'before');
    await eventually(
      'the figures are shown',
      async (see) =>
        see(await viewer.figures())
          .slice(0, 4)
          .join() === '1,1,0,0.0',
    );
    set.stop();
    await viewer.untilState('unavailable, reconnecting');
    await eventually('no figure seems current', async (see) =>
      see(await viewer.figures()).every((text) => text === '–'),
    );
    await eventually('the age of the rows is shown', async (see) =>
      (see(await viewer.page.locator('#locks .note').textContent()) ?? '').endsWith(' old'),
    );
    expect((await viewer.cells('before'))['Time left']).toBe('–');
    set.start();
    await viewer.untilState('live');
    await held.release();
    await (await locks.acquireMutex('after')).release();
    await viewer.untilNames((names) => names.includes('after'));
    expect(viewer.complaints).toEqual([]);
  });

  it('says that a filter waits for its first search, and shows changes of the state meanwhile', async () => {
    const set = new MemoryReplicaSet({ seed: 8 });
    whenTestEnds(() => set.close());
    const locks = new LockProvider(set.db('app'), { storeTimeoutMs: 500 });
    for (const event of ['storeError', 'lost'] as const) locks.on(event, () => undefined);
    whenTestEnds(() => locks.close({ drainMs: 0 }));
    for (const name of ['one', 'two']) await (await locks.acquireMutex(name)).release();
    const viewer = await viewPage(browser(), locks);
    const note = viewer.page.locator('#locks .note');
    await viewer.untilNames((names) => names.join() === 'one,two');
    const goOn = withoutSearches();
    await viewer.page.locator('#filter').fill('one');
    await eventually('the page says so', async (see) =>
      see(await note.textContent())?.startsWith('searching'),
    );
    await viewer.untilState('live');
    set.stop();
    await viewer.untilState('unavailable, reconnecting');
    await eventually('the rows have an age', async (see) =>
      /^searching, rows from \S+ ago$/.test(see(await note.textContent()) ?? ''),
    );
    set.start();
    await viewer.untilState('live');
    await viewer.page.reload();
    await eventually('the page says so again', async (see) =>
      see(await note.textContent())?.startsWith('searching'),
    );
    expect(await viewer.page.locator('#locks .empty').isVisible()).toBe(false);
    goOn();
    await viewer.untilNames((names) => names.join() === 'one,two');
    await eventually('the note is as before', async (see) =>
      (see(await note.textContent()) ?? '').startsWith('2, '),
    );
    expect(viewer.complaints).toEqual([]);
  });

  it('says that its own server is unavailable, and goes on when it is back', async () => {
    const set = new MemoryReplicaSet({ seed: 4 });
    whenTestEnds(() => set.close());
    const locks = new LockProvider(set.db('app'));
    whenTestEnds(() => locks.close({ drainMs: 0 }));
    const viewer = await viewPage(browser(), locks);
    await viewer.untilState('live');
    await viewer.server[Symbol.asyncDispose]();
    await viewer.untilState('unavailable, reconnecting');
    await eventually('no figure seems current', async (see) =>
      see(await viewer.figures()).every((text) => text === '–'),
    );
    const port = Number(new URL(viewer.server.url).port);
    untilTestEnds(await startWebServer({ host: '127.0.0.1', port }, dashboard(locks)));
    await (await locks.acquireMutex('after')).release();
    await viewer.untilState('live');
    await viewer.untilNames((names) => names.join() === 'after');
  });
});
