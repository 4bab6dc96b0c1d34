import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { anchors, links, page, pages, resolveLink, root } from './pages.js';

const isRelative = (target: string): boolean => !/^[a-z]+:/.test(target);

describe.each(pages)('$path', (from) => {
  test('has only relative links that lead to a file, and to a heading in it', () => {
    const broken = links(from)
      .filter(({ target }) => isRelative(target))
      .filter(({ target }) => {
        const { path, heading } = resolveLink(from, target);
        if (!existsSync(join(root, path))) return true;
        return heading !== '' && !anchors(page(path)).includes(heading);
      });
    expect(broken).toEqual([]);
  });

  test('has only https addresses as other links', () => {
    const others = links(from).filter(({ target }) => !isRelative(target) && !target.startsWith('https://'));
    expect(others).toEqual([]);
  });
});

test('the tests find links and headings in the pages', () => {
  expect(links(page('README.md')).length).toBeGreaterThan(5);
  expect(anchors(page('docs/protocol.md'))).toContain('one-update-as-it-is-sent');
});
