import { expect, test } from 'vitest';

import { firstCells, page } from './pages.js';

const { text } = page('docs/troubleshooting.md');

const PARTS = [
  ['error', 'docs/errors.md', 'By code'],
  ['way to lose a lock', 'docs/errors.md', 'Ways to lose'],
  ['warning', 'docs/operations.md', 'Warnings'],
] as const;

test.each(PARTS)('docs/troubleshooting.md has every %s of %s, under “%s”', (_, path, heading) => {
  const names = firstCells(page(path), heading);
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !text.includes(name))).toEqual([]);
});
