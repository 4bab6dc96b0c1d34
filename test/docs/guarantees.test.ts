import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { page, resolveLink, root } from './pages.js';

const guarantees = page('docs/guarantees.md');

interface Citation {
  readonly file: string;
  readonly title: string;
}

/** A list entry links to one test file and quotes titles from it. */
function citationsIn(text: string): readonly Citation[] {
  const entries = text.replaceAll(/\n {2,}/g, ' ').matchAll(/^- \[[^\]]+\]\((\.\.\/test\/[^)]+)\)(.*)$/gm);
  return [...entries].flatMap(([, target = '', quoting = '']) => {
    const { path } = resolveLink(guarantees, target);
    return [...quoting.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ file: path, title }));
  });
}

const [, promised = ''] = guarantees.text.split(/^## What is promised$/m);
const promises = promised
  .split(/^## /m)[0]
  ?.split(/^### /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n')[0] ?? '', citations: citationsIn(text) }));

describe.each(promises ?? [])('$name', ({ citations }) => {
  test('stands with a test that states it', () => {
    expect(citations).not.toEqual([]);
  });

  test.each(citations)('“$title” is a test in $file', ({ file, title }) => {
    expect(readFileSync(join(root, file), 'utf8')).toContain(title);
  });
});

test('there are promises', () => {
  expect(promises?.length).toBeGreaterThan(5);
});
