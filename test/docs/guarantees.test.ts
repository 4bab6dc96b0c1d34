import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

import { describe, expect, test } from 'vitest';

import { LONG_FILES } from '../support/long-files.js';
import { LONG_SIMULATED_FILES, SIMULATED_FILES } from '../support/simulated-files.js';
import { root } from './pages.js';
import { citationsIn, guarantees, notProved, promises, sectionOf } from './promises.js';

// test/support/promise-reporter.ts checks, after a whole run, that the cited tests have run and passed.

describe.each(promises)('$name', ({ citations }) => {
  test('cites at least one test', () => {
    expect(citations.length).toBeGreaterThan(0);
  });

  test.each(citations)('“$title” is in $file', ({ file, title }) => {
    expect(readFileSync(join(root, file), 'utf8')).toContain(title);
  });
});

test('there are promises', () => {
  expect(promises.length).toBeGreaterThan(5);
});

test('a test file that the quick run leaves out, also in memory, is cited “in the long run”', () => {
  const isOneOf = (patterns: readonly string[], file: string): boolean =>
    patterns.some((pattern) => matchesGlob(file, `test/${pattern}`));
  const isInMemory = (file: string): boolean =>
    isOneOf(SIMULATED_FILES, file) && !isOneOf(LONG_SIMULATED_FILES, file);
  const isLeftOut = (file: string): boolean => isOneOf(LONG_FILES, file) && !isInMemory(file);
  const wrong = promises.flatMap(({ citations }) =>
    citations.filter(({ file, isLong }) => isLeftOut(file) && !isLong),
  );
  expect(wrong).toEqual([]);
});

test.each([
  ['that run in memory', 'What runs in memory', SIMULATED_FILES],
  [
    'that the quick run leaves out',
    'What the quick run leaves out',
    [...LONG_FILES, ...LONG_SIMULATED_FILES],
  ],
] as const)('the page lists the files %s, and each pattern matches a file', (_, heading, patterns) => {
  const section = sectionOf(guarantees.text, heading);
  const listed = [...section.matchAll(/^- `([^`]+)`/gm)].map(([, pattern]) => pattern);
  expect(listed).toEqual(patterns);
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const ofNone = patterns.filter((pattern) => !files.some((file) => matchesGlob(file, pattern)));
  expect(ofNone).toEqual([]);
});

describe('a citation', () => {
  const [plain, long, suite] = citationsIn(
    [
      '- [a.test.ts](../test/a.test.ts): “does it”',
      '- [a.test.ts](../test/a.test.ts), in the long run: “does more”',
      '- [suite.ts](../test/suite.ts), both ways of waiting: “waits”',
    ].join('\n'),
  );
  const cited = [plain, long, suite].flatMap((citation) => citation ?? []);
  const passed = [
    { file: 'test/a.test.ts', title: 'something > does it at once' },
    { file: 'test/a.test.ts', title: 'something > does more' },
    { file: 'test/b.change-stream.test.ts', title: 'waits' },
    { file: 'test/b.polling.test.ts', title: 'waits' },
  ];

  test('is proved if all tests have passed', () => {
    expect(cited).toHaveLength(3);
    expect(notProved(cited, passed, 'long')).toEqual([]);
  });

  test('is not proved by a test that was skipped, has failed or is in another file', () => {
    expect(notProved(cited, passed.slice(1), 'long')).toEqual(['test/a.test.ts: “does it”']);
    const elsewhere = passed.map((each) => ({ ...each, file: each.file.replace('/a.', '/c.') }));
    expect(notProved(cited, elsewhere, 'long')).toHaveLength(2);
  });

  test('is not proved by one way of waiting in a long run if it names both', () => {
    expect(notProved(cited, passed.slice(0, 3), 'long')).toEqual(['test/suite.ts: “waits”, by polling']);
    expect(notProved(cited, passed.slice(0, 3), 'quick')).toEqual([]);
  });

  test('needs no proof in a quick run if it is in the long run only', () => {
    const without = passed.filter(({ title }) => !title.includes('more'));
    expect(notProved(cited, without, 'quick')).toEqual([]);
    expect(notProved(cited, without, 'long')).toEqual(['test/a.test.ts: “does more”']);
  });
});
