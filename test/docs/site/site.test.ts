import { readdirSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { Child } from '../../../lab/processes/child.js';
import { fromSources } from '../../../lab/processes/program.js';
import { serveFolder } from '../../../lab/static-server.js';
import type { StaticServer } from '../../../lab/static-server.js';
import { codeBlocks, pages, root } from '../pages.js';
import { chromiumPath, startBrowser } from './browser.js';
import { crawl } from './crawl.js';

/** A build takes less than a minute. This bound ends one that hangs. */
const BUILD_BOUND_MS = 500_000;

const SITE = join(root, '.cache/site');

const WITHOUT_BROWSER = 'no Chromium is installed; on Debian: apt-get install chromium';

let server: StaticServer;

beforeAll(async () => {
  await using build = new Child(fromSources('scripts/docs.ts'));
  await build.endsByItself(0, BUILD_BOUND_MS);
  server = await serveFolder(SITE);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const textAt = async (path: string): Promise<string> => {
  const response = await fetch(server.url + path);
  expect(response.status, path).toBe(200);
  return await response.text();
};

describe('the built site', () => {
  test('lists its pages for language models, each with its text', async () => {
    const list = await textAt('/llms.txt');
    const paths = [...list.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path = '']) => path);
    expect(paths).toEqual(expect.arrayContaining(['/mutex.md', '/protocol.md', '/api/index.md']));
    const all = await textAt('/llms-full.txt');
    for (const path of paths) {
      const [title = ''] = (await textAt(path)).split('\n');
      expect(title).toMatch(/^# \S/);
      if (!path.startsWith('/api/')) expect(all).toContain(title);
    }
  });

  test('lists names of each entry in the reference', async () => {
    const index = await textAt('/api/index.md');
    const names = [
      'LockProvider',
      'QuorumLockProvider',
      'MemoryReplicaSet',
      'runCoordinator',
      'fencedUpdateOne',
    ];
    for (const name of names) {
      expect(index).toMatch(new RegExp(`^\\| \\[\`${name}\`\\]`, 'm'));
    }
  });
});

describe.runIf(chromiumPath === undefined)('the site in a browser', () => {
  test('is not looked at', ({ skip }) => {
    // CI installs Chromium. There, one that is missing is a fault.
    expect(process.env['CI'], WITHOUT_BROWSER).toBeUndefined();
    skip(WITHOUT_BROWSER);
  });
});

describe.skipIf(chromiumPath === undefined)('the site in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  test('has links, anchors, widths and both colour schemes in order on every page, and asks no other server', async () => {
    const { visited, diagrams, complaints } = await crawl(browser, server.url);
    expect(complaints).toEqual([]);
    const files = readdirSync(SITE, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.html') && file !== '404.html')
      .map((file) => `/${file.split(sep).join(posix.sep)}`.replace(/\/index\.html$/, '/'));
    expect(visited.toSorted()).toEqual(files.toSorted());
    expect(diagrams).toBe(pages.flatMap((page) => codeBlocks(page, 'mermaid')).length);
    expect(diagrams).toBeGreaterThan(10);
  });

  test('finds a word by its own index', async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}/mutex.html`);
    await page.locator('.DocSearch-Button').click();
    await page.locator('input.search-input').fill('upgradeable');
    const found = page.locator('.results a[href*="/reader-writer-lock.html"]').first();
    await found.click();
    await page.waitForURL('**/reader-writer-lock.html*');
    await page.close();
  });
});
