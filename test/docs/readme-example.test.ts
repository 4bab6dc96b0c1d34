import { expect, test } from 'vitest';

import { OwnDatabase } from '../support/test-provider.js';
import { codeBlocks, page } from './pages.js';
import { runProgram } from './program.js';

test('the first example of the README is plain JavaScript, runs unchanged, charges an invoice only once at a time, and ends', async () => {
  await using database = new OwnDatabase();
  const [example] = codeBlocks(page('README.md'), 'js');
  const { stdout, stderr } = await runProgram(example?.code ?? '', database, 'mjs');

  expect(stderr).toBe('');
  const lines = [...stdout.matchAll(/^invoice (\d+) charged under token (\d+)$/gm)];
  const tokens = lines.filter(([, number]) => number === '42').map(([, , token]) => Number(token));
  expect(lines).toHaveLength(3);
  expect(tokens).toHaveLength(2);
  expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity);
});
