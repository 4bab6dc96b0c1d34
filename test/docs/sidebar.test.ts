import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { anchorOf, siteTarget } from '../../docs/.vitepress/markdown.js';
import { SECTIONS } from '../../docs/.vitepress/sidebar.js';
import { pages, root } from './pages.js';

const listed = SECTIONS.flatMap(({ pages: entries }) => entries.map(([, page]) => `docs/${page}`));

describe('the sidebar of the site', () => {
  test('has every page below docs once, and the landing page not at all', () => {
    const written = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    expect(listed.toSorted()).toEqual(written.filter((path) => path !== 'docs/index.md').toSorted());
  });

  test('has no page without a file', () => {
    expect(listed.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('a link of a page', () => {
  test('stays what it is within the site, and to other sites', () => {
    for (const target of ['mutex.md#fairness', '../mutex.md', '#fairness', 'https://example.org/a.md']) {
      expect(siteTarget('coming-from/redlock.md', target)).toBe(target);
    }
  });

  test('leads to the repository if its file is not part of the site', () => {
    const target = siteTarget('coming-from/redlock.md', '../../CHANGELOG.md#unreleased-010');
    expect(target).toBe('https://github.com/leasehold/leasehold/blob/main/CHANGELOG.md#unreleased-010');
    const rules = siteTarget('telemetry.md', 'grafana/leasehold.rules.yaml');
    expect(rules).toBe('https://github.com/leasehold/leasehold/blob/main/docs/grafana/leasehold.rules.yaml');
  });

  test('ends the build if its file does not exist', () => {
    const broken = (): string => siteTarget('mutex.md', '../test/nothing-here.ts');
    expect(broken).toThrow('docs/mutex.md links to test/nothing-here.ts, which does not exist');
  });

  test.each([
    ['1 · The store never holds too many (S1, S5)', '1--the-store-never-holds-too-many-s1-s5'],
    ['One document: `fencedUpdateOne`', 'one-document-fencedupdateone'],
  ])('finds the heading “%s” by the anchor that GitHub makes', (heading, anchor) => {
    expect(anchorOf(heading)).toBe(anchor);
  });
});
