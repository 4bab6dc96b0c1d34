import { describe, expect, test } from 'vitest';

import { links, page, resolveLink } from './pages.js';

const glossary = page('docs/glossary.md');

/** The word and the meaning of each row, without the heads of the tables. */
const entries: readonly (readonly [string, string])[] = glossary.text
  .split('\n')
  .filter((line) => /^\| (?!word +\| meaning |-)/.test(line))
  .map((line) => {
    const [, word = '', meaning = ''] = line.split('|').map((cell) => cell.trim());
    return [word, meaning];
  });

describe('docs/glossary.md', () => {
  test('has each word once', () => {
    const words = entries.map(([word]) => word);
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
    expect(words).toEqual(
      expect.arrayContaining(['attempt id', 'grant', 'hold', 'lease', 'place', 'seat', 'word']),
    );
  });

  test.each(entries)('says what “%s” means in one sentence', (_word, meaning) => {
    expect(meaning).toMatch(/^[^a-z].*\.$/);
    expect(meaning.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[.?!] /);
  });

  test.each(['README.md', 'docs/architecture.md', 'docs/protocol.md'])('is linked from %s', (path) => {
    const from = page(path);
    const targets = links(from).map(({ target }) => resolveLink(from, target).path);
    expect(targets).toContain(glossary.path);
  });
});
