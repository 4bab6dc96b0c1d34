import { describe, expect, test } from 'vitest';

import { isRun, allCode } from './code-rules.js';
import { MemorySurroundings } from './memory-run.js';
import { allBlocks } from './pages.js';
import type { CodeBlock } from './pages.js';

/** These pages are run on a real server, each by a test of its own or by running-examples.test.ts. */
const ON_A_SERVER: ReadonlySet<string> = new Set([
  'README.md',
  'docs/all-or-nothing.md',
  'docs/fencing.md',
  'docs/installation.md',
  'docs/mutex.md',
  'docs/reader-writer-lock.md',
  'docs/semaphore.md',
]);

const examples = allCode.filter((block) => isRun(block) && !ON_A_SERVER.has(block.page.path));

/** The text that the page shows right after the block as what it prints. */
function shownOutput(block: CodeBlock): string | undefined {
  const blocks = allBlocks(block.page);
  const next = blocks[blocks.findIndex(({ line }) => line === block.line) + 1];
  return next?.info === 'output' ? next.code : undefined;
}

/** `…` stands for anything within a line. */
const pattern = (shown: string): RegExp =>
  new RegExp(`^${shown.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('…', '.*')}$`);

describe('on a replica set in memory', () => {
  test.each(examples.map((example) => ({ path: example.page.path, line: example.line, example })))(
    'the code at line $line of $path runs, prints what the page shows, and breaks no invariant',
    async ({ example }) => {
      await using surroundings = new MemorySurroundings();
      const { printed } = await surroundings.run(example);
      const shown = shownOutput(example);
      if (shown !== undefined) expect(printed).toMatch(pattern(shown));
      expect(surroundings.violations()).toEqual([]);
    },
  );

  test('code is run on the pages that should have some', () => {
    const paths = new Set(examples.map(({ page }) => page.path));
    const expected = ['docs/start.md', 'docs/troubleshooting.md', 'docs/testing.md', 'docs/errors.md'];
    expect([...paths]).toEqual(expect.arrayContaining(expected));
  });
});
