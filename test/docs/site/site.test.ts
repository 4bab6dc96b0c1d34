import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { Child } from '../../../lab/processes/child.js';
import { fromSources } from '../../../lab/processes/program.js';
import { serveFolder } from '../../../lab/static-server.js';
import type { StaticServer } from '../../../lab/static-server.js';
import { ENTRIES } from '../../../scripts/entries.js';
import { exportsOf } from '../../structure/entry-exports.js';
import { codeBlocks, pages, root } from '../pages.js';
import { chromiumPath } from '../../../lab/browser.js';
import { useBrowser } from '../../support/use-browser.js';
import { crawl, walk } from './crawl.js';
import type { Look } from './crawl.js';

/** A build takes one to two minutes on two cores, and so does the longest look. These bounds end what hangs. */
const [BUILD_BOUND_MS, LOOK_BOUND_MS] = [500_000, 1_200_000];

const SITE = join(root, '.cache/site');

/** Matches a link to a file of the repository, with the line if there is one. */
const IN_REPOSITORY =
  /href="https:\/\/github\.com\/leasehold\/leasehold\/(?:blob|tree)\/main\/([^"#]*(?:#L\d+)?)/g;

const WITHOUT_BROWSER = 'no Chromium is installed; on Debian: apt-get install chromium';

const EVERY_PAGE = { what: 'every page', shows: () => true };

/** The pages of the reference, four in five of all, have the same colours and widths as the others, and no diagrams. */
const OUTSIDE_REFERENCE = {
  what: 'every page outside the reference',
  shows: (path: string) => !path.startsWith('/api/'),
};

const LOOKS: readonly (Look & { readonly what: string })[] = [
  { ...OUTSIDE_REFERENCE, width: 1_280, scheme: 'light' },
  { ...EVERY_PAGE, width: 400, scheme: 'light' },
  { ...OUTSIDE_REFERENCE, width: 400, scheme: 'dark' },
];

/** The paths of all pages that were built. */
const builtPages = (): readonly string[] =>
  readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && file !== '404.html')
    .map((file) => `/${file.split(sep).join(posix.sep)}`.replace(/\/index\.html$/, '/'));

/** Every public name but the deprecated ones, for which the reference has no page. */
const publicNames = new Set(
  Object.values(ENTRIES)
    .flatMap((path) => exportsOf(path.replace(/^src\//, '')))
    .filter(({ from }) => !from.endsWith('deprecated-exports.ts'))
    .map(({ name }) => name),
);

let server: StaticServer;

beforeAll(async () => {
  await using build = new Child(fromSources('scripts/docs.ts'));
  await build.endsByItself(0, BUILD_BOUND_MS);
  server = await serveFolder(SITE);
}, BUILD_BOUND_MS + 60_000);

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

  test('links to files of the repository that exist, at lines that they have', async () => {
    const links = new Set<string>();
    for (const path of builtPages())
      for (const [, link = ''] of (await textAt(path)).matchAll(IN_REPOSITORY)) links.add(link);
    expect(links.size).toBeGreaterThan(200);
    const lines = (file: string): number =>
      existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8').split('\n').length : 0;
    const dead = [...links].filter((link) => {
      const [file = '', line = '1'] = link.split('#L');
      return (
        !statSync(join(root, file), { throwIfNoEntry: false })?.isDirectory() && lines(file) < Number(line)
      );
    });
    expect(dead).toEqual([]);
  });

  test('has a page in the reference for each public name', async () => {
    const index = await textAt('/api/index.md');
    const rows = [...index.matchAll(/^\| \[`(?<name>\w+)`\]\((?<path>[^)]+)\)/gm)];
    expect(rows.map(({ groups }) => groups?.['name']).sort()).toEqual([...publicNames].sort());
    for (const { groups: { name = '', path = '' } = {} } of rows) {
      const { pathname } = new URL(path, `${server.url}/api/`);
      expect(await textAt(pathname)).toMatch(new RegExp(`^# .*\\b${name}\\b`));
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
  const browser = useBrowser();

  test.each(LOOKS)(
    'has every link and anchor in order in $what at $width px, $scheme, and asks no other server',
    async (look) => {
      const { visited, diagrams, complaints } = await crawl(browser(), server.url, look);
      expect(complaints).toEqual([]);
      expect(visited.toSorted()).toEqual(builtPages().filter(look.shows).toSorted());
      expect(diagrams).toBe(pages.flatMap((page) => codeBlocks(page, 'mermaid')).length);
      expect(diagrams).toBeGreaterThan(10);
    },
    LOOK_BOUND_MS,
  );

  test(
    'shows every page by a link too, without loading a document',
    async () => {
      expect(await walk(browser(), server.url, builtPages())).toEqual([]);
    },
    LOOK_BOUND_MS,
  );

  test('finds a word by its own index', async () => {
    const page = await browser().newPage();
    await page.goto(`${server.url}/mutex.html`);
    await page.locator('.DocSearch-Button').click();
    await page.locator('input.search-input').fill('upgradeable');
    const found = page.locator('.results a[href*="/reader-writer-lock.html"]').first();
    await found.click();
    await page.waitForURL('**/reader-writer-lock.html*');
    await page.close();
  });
});
