import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

import { startWebServer } from '../../../src/cli/web-server.js';
import type { WebServer } from '../../../src/cli/web-server.js';
import { dashboard } from '../../../src/dashboard/index.js';
import type { DashboardHandler, DashboardOptions } from '../../../src/dashboard/index.js';
import type { LockProvider } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';

/** The page of a dashboard in a browser, and everything that it should not have done. */
export class ViewedPage {
  readonly page: Page;
  readonly server: WebServer;
  readonly handler: DashboardHandler;
  /** Errors and warnings of the console, failed requests, and requests to other servers. */
  readonly complaints: readonly string[];

  constructor(page: Page, server: WebServer, handler: DashboardHandler, complaints: readonly string[]) {
    this.page = page;
    this.server = server;
    this.handler = handler;
    this.complaints = complaints;
  }

  /** Ends the server of the page, and serves this handler at the same address as soon as the page has noticed. */
  async serveInstead(handler: DashboardHandler): Promise<void> {
    const port = Number(new URL(this.server.url).port);
    await this.server[Symbol.asyncDispose]();
    await this.untilState('unavailable, reconnecting');
    untilTestEnds(await startWebServer({ host: '127.0.0.1', port }, handler));
  }

  /** Opens the row of a lock by one click. */
  async open(name: string): Promise<void> {
    const button = this.page.getByRole('button', { name, exact: true });
    await button.click();
    await eventually(
      `the row of ${name} is open`,
      async () => (await button.getAttribute('aria-expanded')) === 'true',
    );
  }

  /** Every form that revokes has stood where it is for long enough. */
  async untilSettled(): Promise<void> {
    await eventually('forms are shown, and none moves', async (see) => {
      const forms = await this.page.locator('button.revoke').count();
      const moving = await this.page.locator('button.revoke.unsettled').count();
      see({ forms, moving, text: await this.page.locator('body').innerText() });
      return forms > 0 && moving === 0;
    });
  }

  /** From now on, no time passes on the page but by `passUntil`. */
  async stopClock(): Promise<void> {
    await eventually('the clock stands', async () => {
      const atMs = (await this.page.evaluate<number>('Date.now()')) + 1_000;
      try {
        await this.page.clock.pauseAt(atMs);
        return true;
      } catch (error) {
        // The page got the call more than a second later. Its clock has stopped all the same, so the next call succeeds.
        if (String(error).includes('fast-forward to the past')) return false;
        throw error;
      }
    });
  }

  /** Lets time pass on the page, whose clock is stopped, until the condition holds. */
  async passUntil(what: string, condition: () => Promise<boolean>): Promise<void> {
    await eventually(what, async () => {
      await this.page.clock.runFor(20);
      return await condition();
    });
  }

  /** The names of the shown locks, from top to bottom. */
  async names(): Promise<readonly string[]> {
    return await this.page.locator('#locks tr.row button.name').allTextContents();
  }

  /** The text of each cell of a row, by its label. */
  async cells(name: string): Promise<Readonly<Record<string, string>>> {
    const row = this.page
      .locator('tr.row', { has: this.page.getByRole('button', { name, exact: true }) })
      .first();
    const cells = await row.locator('td').all();
    const pairs = cells.map(async (cell) => [
      await cell.getAttribute('data-label'),
      await cell.textContent(),
    ]);
    return Object.fromEntries(await Promise.all(pairs)) as Readonly<Record<string, string>>;
  }

  /** The totals at the top, from left to right. */
  async figures(): Promise<readonly string[]> {
    return await this.page.locator('#figures dd').allTextContents();
  }

  async untilState(text: string): Promise<void> {
    await eventually(
      `the page says ${text}`,
      async (see) => see(await this.page.locator('#state').textContent()) === text,
    );
  }

  async untilNames(condition: (names: readonly string[]) => boolean): Promise<void> {
    await eventually('the rows are those', async (see) => condition(see(await this.names())));
  }
}

/** Serves a dashboard and opens its page. Both end with the test. */
export async function viewPage(
  browser: Browser,
  locks: LockProvider,
  options?: DashboardOptions,
  contextOptions?: BrowserContextOptions,
): Promise<ViewedPage> {
  const handler = dashboard(locks, options);
  const server = untilTestEnds(await startWebServer({ host: '127.0.0.1', port: 0 }, handler));
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 }, ...contextOptions });
  await page.clock.install();
  whenTestEnds(() => page.close());
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', ({ message }) => complaints.push(`error: ${message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${server.url}/`) && !url.startsWith('data:')) complaints.push(`request to ${url}`);
  });
  await page.goto(`${server.url}${options?.basePath ?? '/'}`);
  return new ViewedPage(page, server, handler, complaints);
}
