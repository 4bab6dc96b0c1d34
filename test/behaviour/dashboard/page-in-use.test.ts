// What the page does not move, hide or blur while somebody uses it, and while locks go from hand to hand.
import type { BrowserContextOptions, Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { chromiumPath } from '../../../lab/browser.js';
import { eventually, later } from '../../../lab/patience.js';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { contrasts } from './contrasts.js';
import { World } from './dashboard-world.js';
import { useBrowser } from '../../support/use-browser.js';
import { viewPage } from './viewed-page.js';
import type { ViewedPage } from './viewed-page.js';
import { keepHold } from '../../support/keep-hold.js';

interface Handed {
  readonly viewer: ViewedPage;
  /** The form of the first shown hold. */
  readonly form: Locator;
  /** Hands the lock over to b, and waits until the page shows that. */
  readonly handOver: () => Promise<LockHandle>;
}

describe.skipIf(chromiumPath === undefined)('the page of the dashboard in use', () => {
  const browser = useBrowser();

  const opened = async (world: World, name: string, options?: BrowserContextOptions): Promise<ViewedPage> => {
    const viewer = await viewPage(browser(), world.locks, { allowRevoke: true }, options);
    await viewer.untilNames((names) => names.includes(name));
    await viewer.open(name);
    await viewer.page.locator('.terms').first().waitFor();
    await viewer.untilSettled();
    return viewer;
  };

  /** A lock that a holds and b waits for, with its row open. */
  const handed = async (): Promise<Handed> => {
    const world = new World();
    const [a, b] = ['a', 'b'].map((label) => world.process({ label })) as [LockProvider, LockProvider];
    const held = await a.acquireMutex('x');
    const waiting = later(b.acquireMutex('x'));
    const viewer = await opened(world, 'x');
    const handOver = async (): Promise<LockHandle> => {
      await held.release();
      await eventually('b holds it', async () => (await viewer.cells('x'))['Held by'] === 'b');
      await viewer.page.locator('.holding', { hasText: /Holderb/ }).waitFor();
      return await waiting;
    };
    return { viewer, handOver, form: viewer.page.locator('.holding form').first() };
  };

  it('keeps the form that has the focus when its hold ends, so that Enter does not revoke the next hold', async () => {
    const { viewer, form, handOver } = await handed();
    await form.getByPlaceholder('Why').fill('stuck');
    const next = await handOver();
    expect(await viewer.page.evaluate('document.activeElement.value')).toBe('stuck');
    const holding = viewer.page.locator('.holding').first();
    await eventually('the page says so', async () =>
      (await holding.textContent())?.includes('the hold has ended'),
    );
    await viewer.page.keyboard.press('Enter');
    const notice = viewer.page.locator('#notice');
    await eventually('the answer has come', async (see) =>
      see(await notice.textContent())?.includes('The hold had ended before.'),
    );
    expect(next.releaseRequested.aborted).toBe(false);
    await viewer.page.locator('#filter').focus();
    await eventually(
      'the form is gone',
      async () => (await viewer.page.locator('.holding').count()) === 1 && (await holding.textContent()),
    );
    expect(await holding.textContent()).toContain('Holderb');
    expect(viewer.complaints).toEqual([]);
  });

  it('keeps the form under the pointer where it is when its hold ends', async () => {
    const { viewer, form, handOver } = await handed();
    const button = form.getByRole('button', { name: 'Revoke' });
    await button.hover();
    const before = await button.boundingBox();
    const next = await handOver();
    expect(await button.boundingBox()).toEqual(before);
    const { x = 0, y = 0 } = before ?? {};
    await viewer.page.mouse.click(x + 5, y + 5);
    await eventually('the answer has come', async () =>
      (await viewer.page.locator('#notice').textContent())?.includes('The hold had ended before.'),
    );
    expect(next.releaseRequested.aborted).toBe(false);
  });

  it('shows the answer to a revocation in the window, moves nothing for it, and lets it be dismissed', async () => {
    const world = new World();
    const locks = world.process({ label: 'a' });
    for (let at = 0; at < 20; at += 1) await keepHold(locks.acquireMutex(`lock ${at}`));
    const viewer = await opened(world, 'lock 19', { viewport: { width: 400, height: 600 } });
    const { page } = viewer;
    const button = page.getByRole('button', { name: 'Revoke' });
    await button.scrollIntoViewIfNeeded();
    const before = await button.boundingBox();
    await button.click();
    const notice = page.locator('#notice');
    await eventually('the answer has come', async () =>
      (await notice.textContent())?.includes('was asked to release'),
    );
    const { y = 0, height = 0 } = (await notice.boundingBox()) ?? {};
    expect([y > 0, y + height <= 600]).toEqual([true, true]);
    expect(await button.boundingBox()).toEqual(before);
    expect(await contrasts(page)).toEqual([]);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    expect(await notice.textContent()).toBe('');
    expect(viewer.complaints).toEqual([]);
  });

  it('shows a row that is gone in colours that can be read, in both schemes', async () => {
    const world = new World();
    const locks = world.process({ label: 'a' });
    const held = await locks.acquireMutex('x', { why: 'a reason' });
    const viewer = await opened(world, 'x');
    await held.release();
    await world.set.db('app').collection('distributed.locks').deleteMany({});
    await viewer.page.locator('tr.gone').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await viewer.page.emulateMedia({ colorScheme });
      expect(await contrasts(viewer.page)).toEqual([]);
    }
  });

  it('keeps the columns of each table when a row opens', async () => {
    const world = new World();
    const locks = world.process({ label: 'a' });
    await locks.createScheduledJob('job', { everyMs: 200, run: () => undefined }).start();
    await locks.createLeaderElection('vote').start();
    await keepHold(locks.acquireMutex('x'));
    const viewer = await viewPage(browser(), world.locks);
    const columns = `[...document.querySelectorAll('th')].map((cell) => cell.getBoundingClientRect().width)`;
    for (const list of ['locks', 'elections', 'jobs']) {
      const button = viewer.page.locator(`#${list} button.name`).first();
      await button.waitFor();
      const before = await viewer.page.evaluate(columns);
      await button.click();
      await viewer.page.locator(`#${list} tr.details`).waitFor();
      expect(await viewer.page.evaluate(columns)).toEqual(before);
    }
  });

  it('says of a row that is not listed any more that it is not, and its ages stand still', async () => {
    const world = new World();
    const [a, b] = ['worker-1', 'worker-2'].map((label) => world.process({ label }));
    const held = await a?.acquireMutex('job');
    const waiting = later(b?.acquireMutex('job') ?? Promise.reject(new Error('no process')));
    const viewer = await opened(world, 'job');
    const { page } = viewer;
    await page.locator('#filter').fill('worker-1');
    await page.locator('#locks .note', { hasText: '1 match' }).waitFor();
    await held?.release();
    await keepHold(waiting);
    await page.locator('tr.gone').waitFor();
    await eventually('it says so', async (see) => {
      const cells = see(await viewer.cells('job'));
      return cells['Held by'] === 'not listed any more' && cells['Time left'] === '–';
    });
    expect(await page.locator('tr.gone .warn').count()).toBe(0);
    const texts = async (): Promise<readonly string[]> =>
      await page.locator('tr.gone td, tr.details td').allTextContents();
    const before = await texts();
    await keepHold(world.locks.acquireMutex('worker-1 comes back'));
    await viewer.untilNames((names) => names.length === 2);
    const other = viewer.page.locator('tr.row:not(.gone) td[data-label="Held for"]');
    await eventually(
      'time has passed',
      async (see) => Number.parseFloat(see(await other.textContent()) ?? '') >= 1,
    );
    expect(await texts()).toEqual(before);
    await page.locator('#filter').fill('');
    await eventually(
      'it is listed again',
      async (see) => see((await viewer.cells('job'))['Held by']) === 'worker-2',
    );
  });

  it('says of a corrupt document that its holders cannot be read', async () => {
    const world = new World();
    await (await world.process({}).acquireMutex('x')).release();
    await world.set
      .db('app')
      .collection<{ _id: string }>('distributed.locks')
      .updateOne({ _id: 'x' }, { $set: { holder: 7 } });
    const viewer = await viewPage(browser(), world.locks);
    await viewer.untilNames((names) => names.join() === 'x');
    await viewer.open('x');
    const details = viewer.page.locator('tr.details');
    await eventually('it says so', async (see) =>
      see(await details.textContent())?.includes(
        'Its holders cannot be read. Make sure that no process holds',
      ),
    );
    expect(await details.textContent()).not.toContain('Nobody holds it');
  });

  it('can be read in forced colours and with more contrast', async () => {
    const { viewer } = await handed();
    const { page } = viewer;
    const mark = `getComputedStyle(document.querySelector('.state'), '::before').backgroundColor`;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, contrast: 'more' });
      expect(await contrasts(page)).toEqual([]);
      await page.emulateMedia({ colorScheme, contrast: null, forcedColors: 'active' });
      expect(await contrasts(page)).toEqual([]);
      expect(await page.evaluate(mark)).not.toBe(
        await page.evaluate('getComputedStyle(document.body).backgroundColor'),
      );
      await page.emulateMedia({ forcedColors: null });
    }
  });

  it('tells names apart that differ in their blanks only', async () => {
    const world = new World();
    const locks = world.process({ label: 'a' });
    for (const name of ['a b', 'a  b', 'a\u00a0b', ' a b', 'a b ']) await keepHold(locks.acquireMutex(name));
    const viewer = await viewPage(browser(), world.locks);
    await viewer.untilNames((names) => names.length === 5);
    expect(await viewer.names()).toEqual([
      ...['a b', 'a  b', String.raw`a\u{a0}b`, String.raw`\u{20}a b`, String.raw`a b\u{20}`],
    ]);
    const widths = await viewer.page.evaluate<readonly number[]>(
      `[...document.querySelectorAll('#locks button.name bdi')].map((name) => name.getBoundingClientRect().width)`,
    );
    expect(new Set(widths.slice(0, 2)).size).toBe(2);
  });

  it('names the group of fields of each hold, and the details of each button, for screen readers', async () => {
    const { viewer } = await handed();
    const group = viewer.page.getByRole('group', { name: 'Revoke the hold of a', exact: true });
    expect(await group.getByRole('button', { name: 'Revoke' }).count()).toBe(1);
    expect(await group.getByRole('textbox', { name: 'Why it is revoked' }).count()).toBe(1);
    expect(await group.getByRole('checkbox', { name: 'by force, at once' }).count()).toBe(1);
    const button = viewer.page.getByRole('button', { name: 'x', exact: true, expanded: true });
    const details = viewer.page.locator(`[id="${await button.getAttribute('aria-controls')}"]`);
    expect(await details.textContent()).toContain('Holdera');
  });
});
