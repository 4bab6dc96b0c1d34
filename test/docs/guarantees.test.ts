import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { LONG_FILES } from '../support/long-files.js';
import { LONG_SIMULATED_FILES, SIMULATED_FILES } from '../support/simulated-files.js';
import { filesOf, isOfLongRunOnly, matching } from '../support/files-of-run.js';
import { root } from './pages.js';
import { citationsIn, guarantees, notProved, promises, sectionOf } from './promises.js';

// test/support/promise-reporter.ts checks, after a whole run, that the cited tests have run and passed.

const filesBelowTest = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => !path.includes('node_modules'));
const textOf = (file: string): string => readFileSync(join(root, 'test', file), 'utf8');

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
  const wrong = promises.flatMap(({ citations }) =>
    citations.filter(({ file, isLong }) => isOfLongRunOnly(file) && !isLong),
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
  const ofNone = patterns.filter(
    (pattern) => !filesBelowTest.map((file) => `test/${file}`).some(matching([pattern])),
  );
  expect(ofNone).toEqual([]);
});

test('the page names each file that does less in the quick run', () => {
  const section = sectionOf(guarantees.text, 'What the quick run leaves out');
  const named = new Set([...section.matchAll(/\| `([^`]+\.ts)` +\|$/gm)].map(([, file]) => file));
  const lessen = filesBelowTest.filter(
    (file) => /(?<!^support.*)\.ts$/.test(file) && /\b(?:byBreadth\(|isLong\b[^:])/.test(textOf(file)),
  );
  const doLess = lessen.filter((file) => !file.startsWith('docs') && !file.startsWith('support'));
  expect([...named].sort()).toEqual(doLess.sort());
});

test('the long run has each file that does less in the quick run', () => {
  const importers = new Map<string, string[]>();
  for (const from of filesBelowTest.filter((file) => file.endsWith('.ts'))) {
    for (const [, to = ''] of textOf(from).matchAll(/^(?:import \{|export|\}) .*from '(\..*)\.js';$/gm)) {
      const imported = `${posix.join(posix.dirname(from), to)}.ts`;
      importers.set(imported, [...(importers.get(imported) ?? []), from]);
    }
  }
  // Some print the breadth, some compare a page with it, and one counts the suites without running them.
  const noLess = new Set([
    ...['support/seed.ts', 'support/promise-reporter.ts', 'docs/promises.ts'],
    'behaviour/conformance/every-combination.test.ts',
  ]);
  const lessened = new Set(['support/breadth.ts']);
  for (const file of lessened) {
    for (const importer of importers.get(file) ?? []) if (!noLess.has(importer)) lessened.add(importer);
  }
  const testFiles = [...lessened].filter((file) => file.endsWith('.test.ts'));
  expect(testFiles.length).toBeGreaterThan(20);
  const { inMemory, onServers } = filesOf('long');
  const ofLongRun = new Set([...inMemory, ...onServers]);
  expect(testFiles.filter((file) => !ofLongRun.has(`test/${file}`))).toEqual([]);
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
    expect(notProved(cited, passed.slice(1), 'quick')).toEqual(['test/a.test.ts: “does it”']);
    const elsewhere = passed.map((each) => ({ ...each, file: each.file.replace('/a.', '/c.') }));
    expect(notProved(cited, elsewhere, 'quick')).toEqual(['test/a.test.ts: “does it”']);
    expect(notProved(cited, elsewhere, 'long')).toEqual(['test/a.test.ts: “does more”']);
  });

  test('is not proved by one way of waiting in a long run if it names both', () => {
    expect(notProved(cited, passed.slice(0, 3), 'long')).toEqual(['test/suite.ts: “waits”, by polling']);
    expect(notProved(cited, passed.slice(0, 3), 'quick')).toEqual([]);
  });

  test('needs proof in a long run only if the long run has its file', () => {
    const without = passed.filter(({ title }) => !title.includes('does it'));
    expect(notProved(cited, without, 'long')).toEqual([]);
    const shortened = citationsIn('- [m](../test/model/mutex-model.test.ts): “histories”');
    expect(notProved(shortened, passed, 'long')).toEqual(['test/model/mutex-model.test.ts: “histories”']);
  });

  test('needs no proof in a quick run if it is in the long run only', () => {
    const without = passed.filter(({ title }) => !title.includes('more'));
    expect(notProved(cited, without, 'quick')).toEqual([]);
    expect(notProved(cited, without, 'long')).toEqual(['test/a.test.ts: “does more”']);
  });
});
