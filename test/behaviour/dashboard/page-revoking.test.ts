// Which hold a click on the page revokes, and what the page says of it.
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { chromiumPath } from '../../../lab/browser.js';
import { eventually, later } from '../../../lab/patience.js';
import type { LockHandle, PermitHandle } from '../../../src/index.js';
import { World } from './dashboard-world.js';
import { keepHold } from '../../support/keep-hold.js';
import { useBrowser } from '../../support/use-browser.js';
import { viewPage } from './viewed-page.js';
import type { ViewedPage } from './viewed-page.js';

const TOO_SOON = 'this form came or moved here less than a second ago';

/**
 * A lease is not extended any more once its release was asked for. It is long, so that it outlasts the test on a slow
 * machine. It is extended often, because the holder hears of the request at an extension.
 */
const LEASE = { leaseMs: 600_000, extendEveryMs: 500 };

/** The middle of an element in the window. */
async function middleOf(element: Locator): Promise<readonly [number, number]> {
  const { x = 0, y = 0, width = 0, height = 0 } = (await element.boundingBox()) ?? {};
  return [x + width / 2, y + height / 2];
}

/** The button that revokes the hold of this holder. */
const revokeOf = (page: Page, holder: string): Locator =>
  page.getByRole('group', { name: `Revoke the hold of ${holder}`, exact: true }).getByRole('button');

const notices = async ({ page }: ViewedPage, text: string): Promise<void> => {
  await eventually(`the notice says ${text}`, async (see) =>
    (see(await page.locator('#notice').textContent()) ?? '').includes(text),
  );
};

describe.skipIf(chromiumPath === undefined)('a revocation on the page of the dashboard', () => {
  const browser = useBrowser();

  const opened = async (
    world: World,
    names: readonly string[],
    options?: BrowserContextOptions,
  ): Promise<ViewedPage> => {
    const viewer = await viewPage(browser(), world.locks, { allowRevoke: true }, options);
    await viewer.untilNames((all) => names.every((name) => all.includes(name)));
    for (const name of names) await viewer.open(name);
    await viewer.untilSettled();
    return viewer;
  };

  const hold = async (world: World, label: string, name: string): Promise<LockHandle> =>
    await keepHold(world.process({ label, ...LEASE }).acquireMutex(name));

  /** Makes so many processes wait for the lock. The returned function makes them leave. */
  const wait = (world: World, name: string, count: number): (() => void) => {
    const leaving = new AbortController();
    for (let at = 0; at < count; at += 1) {
      const locks = world.process({ label: `waiter ${at}` });
      void later(locks.acquireMutex(name, { signal: leaving.signal })).catch(() => undefined);
    }
    return () => {
      leaving.abort();
    };
  };

  /** Two open locks: alpha with eight waiters, and below it beta with six holders. The clock of the page is stopped. */
  const twoLocks = async (): Promise<{
    readonly viewer: ViewedPage;
    readonly holds: readonly PermitHandle[];
    /** Takes the waiters above away, so that the forms below move up. */
    readonly move: () => Promise<void>;
  }> => {
    const world = new World();
    await hold(world, 'a', 'alpha');
    const leave = wait(world, 'alpha', 8);
    const holds = [];
    for (let at = 0; at < 6; at += 1)
      holds.push(
        await world
          .process({ label: `s${at}`, ...LEASE })
          .createSemaphore('beta', 9)
          .acquire(),
      );
    const viewer = await opened(world, ['alpha', 'beta'], { viewport: { width: 1_280, height: 1_600 } });
    await eventually('all waiters are listed', async (see) => {
      see(await viewer.page.locator('body').innerText());
      return (await viewer.page.locator('.places li').count()) === 8;
    });
    await viewer.untilSettled();
    await viewer.stopClock();
    const move = async (): Promise<void> => {
      leave();
      await viewer.passUntil(
        'the queue is gone',
        async () => (await viewer.page.locator('.places').count()) === 0,
      );
    };
    return { viewer, holds, move };
  };

  it('keeps the form where it is, and what was typed, when the page has connected again', async () => {
    const world = new World();
    const [a, b] = [await hold(world, 'a', 'alpha'), await hold(world, 'b', 'beta')];
    wait(world, 'alpha', 2);
    const viewer = await opened(world, ['alpha', 'beta']);
    expect(await viewer.names()).toEqual(['alpha', 'beta']);
    wait(world, 'beta', 30);
    await eventually('beta is contended more', async () => (await viewer.cells('beta'))['Waiting'] === '30');
    const why = viewer.page.getByRole('group', { name: 'Revoke the hold of a' }).getByPlaceholder('Why');
    await why.fill('stuck');
    const middle = await middleOf(revokeOf(viewer.page, 'a'));
    await viewer.serveInstead(viewer.handler);
    await viewer.untilState('live');
    await hold(world, 'c', 'gamma');
    await viewer.untilNames((names) => names.includes('gamma'));
    expect(await viewer.names()).toEqual(['alpha', 'beta', 'gamma']);
    expect(await middleOf(revokeOf(viewer.page, 'a'))).toEqual(middle);
    await viewer.untilSettled();
    await viewer.page.mouse.click(...middle);
    await eventually('the holder hears it', () => a.releaseRequested.aborted);
    expect(String(a.releaseRequested.reason)).toContain('stuck');
    expect(b.releaseRequested.aborted).toBe(false);
  });

  it('is not sent by a click on a form that has just moved, and the page says so', async () => {
    const { viewer, holds, move } = await twoLocks();
    const { page } = viewer;
    const before = await middleOf(revokeOf(page, 's4'));
    await page.mouse.move(...before);
    await move();
    const after = await middleOf(revokeOf(page, 's4'));
    expect(after).not.toEqual(before);
    await page.mouse.click(...after);
    await notices(viewer, `beta, s4: Not revoked: ${TOO_SOON}`);
    expect(holds.some(({ releaseRequested }) => releaseRequested.aborted)).toBe(false);
    await page.clock.runFor(2_000);
    await page.mouse.click(...after);
    await notices(viewer, 'was asked to release');
    await eventually('the holder hears it', () => holds[4]?.releaseRequested.aborted);
    expect(holds.filter(({ releaseRequested }) => releaseRequested.aborted)).toEqual([holds[4]]);
    expect(viewer.complaints).toEqual([]);
  });

  it('is sent by a key if its button has had the focus since before the form moved, and not otherwise', async () => {
    const { viewer, holds, move } = await twoLocks();
    const { page } = viewer;
    await revokeOf(page, 's4').focus();
    await move();
    await page.keyboard.press('Enter');
    await notices(viewer, 'was asked to release');
    await eventually('the holder hears it', () => holds[4]?.releaseRequested.aborted);
    await revokeOf(page, 's2').focus();
    await page.keyboard.press('Enter');
    await notices(viewer, `beta, s2: Not revoked: ${TOO_SOON}`);
    expect(holds[2]?.releaseRequested.aborted).toBe(false);
  });

  it('is not sent by a finger that hits the form of the next hold, which has just come', async () => {
    const world = new World();
    const held = await hold(world, 'alice', 'x');
    const waiting = later(world.process({ label: 'bob', ...LEASE }).acquireMutex('x'));
    const viewer = await opened(world, ['x'], {
      ...{ hasTouch: true, isMobile: true },
      viewport: { width: 400, height: 900 },
    });
    const { page } = viewer;
    const middle = await middleOf(revokeOf(page, 'alice'));
    // The mouse that opened the row would keep the form.
    await page.mouse.move(0, 0);
    await viewer.stopClock();
    await held.release();
    const next = await waiting;
    await viewer.passUntil(
      'the form is that of bob',
      async () =>
        (await page.locator('.holding').count()) === 1 && (await revokeOf(page, 'bob').count()) === 1,
    );
    expect(await middleOf(revokeOf(page, 'bob'))).toEqual(middle);
    await page.touchscreen.tap(...middle);
    await notices(viewer, `x, bob: Not revoked: ${TOO_SOON}`);
    expect(next.releaseRequested.aborted).toBe(false);
    await page.clock.runFor(2_000);
    await page.touchscreen.tap(...middle);
    await eventually('bob hears it', () => next.releaseRequested.aborted);
    expect(viewer.complaints).toEqual([]);
  });

  it('may have been carried out if the answer says no more, or if none comes', async () => {
    const world = new World();
    await hold(world, 'a', 'x');
    const viewer = await opened(world, ['x']);
    const { page } = viewer;
    const button = revokeOf(page, 'a');
    await page.route(/\/revoke/, (route) =>
      route.fulfill({ status: 503, contentType: 'text/plain', body: 'the store is unavailable\n' }),
    );
    await button.click();
    await notices(viewer, 'It may have been revoked: the store is unavailable.');
    await page.unroute(/\/revoke/);
    await page.route(/\/revoke/, (route) =>
      route.fulfill({
        ...{ status: 503, contentType: 'text/plain', body: 'the store is unavailable\n' },
        headers: { 'leasehold-not-revoked': '' },
      }),
    );
    await button.click();
    await notices(viewer, ' Not revoked: the store is unavailable.');
    await page.unroute(/\/revoke/);
    await page.route(/\/revoke/, (route) => route.abort());
    await button.click();
    await notices(viewer, 'It may have been revoked: the server of this page did not answer.');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.unroute(/\/revoke/);
    await page.route(/\/revoke/, () => undefined);
    await page.evaluate(
      '{ const timeout = AbortSignal.timeout; AbortSignal.timeout = () => timeout.call(AbortSignal, 100); }',
    );
    await button.click();
    await notices(viewer, 'It may have been revoked: the server of this page did not answer.');
  });

  it('is told in a notice that Esc takes away first, and whose dismissal gives the focus back', async () => {
    const world = new World();
    await hold(world, 'a', 'x');
    const viewer = await opened(world, ['x']);
    const { page } = viewer;
    const button = revokeOf(page, 'a');
    const focused = async (): Promise<string> => await page.evaluate('document.activeElement.textContent');
    await button.focus();
    await page.keyboard.press('Enter');
    await notices(viewer, 'was asked to release');
    await page.keyboard.press('Escape');
    expect(await page.locator('#notice').textContent()).toBe('');
    expect([await page.locator('tr.details').count(), await focused()]).toEqual([1, 'Revoke']);
    await page.keyboard.press('Enter');
    await notices(viewer, 'was asked to release');
    for (const key of ['Enter', 'Escape']) {
      await page.getByRole('button', { name: 'Dismiss' }).focus();
      await page.keyboard.press(key);
      expect([await page.locator('#notice').textContent(), await focused()]).toEqual(['', 'Revoke']);
      await page.keyboard.press('Enter');
      await notices(viewer, 'was asked to release');
    }
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect([await page.locator('tr.details').count(), await focused()]).toEqual([0, 'x']);
  });
});
