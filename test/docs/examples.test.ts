import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { allCode, isBesideOthers, isCompiled, isJavaScript, isKnown, ruleOf } from './code-rules.js';
import { compile, fileOf } from './compile.js';
import { pages, root } from './pages.js';
import type { CodeBlock } from './pages.js';
import { presupposed } from './presupposed.js';

interface Package {
  readonly version: string;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

const driver = readJson('node_modules/mongodb/package.json') as Package;
const { packages: locked } = readJson('package-lock.json') as { packages: Record<string, Package> };

/** With another version, only the examples have to compile, because a user does not compile the library. */
const isOwnDriver = driver.version === locked['node_modules/mongodb']?.version;

/** The programs of the folder `examples`, as if each were one block of a page. */
const programs: readonly CodeBlock[] = readdirSync(join(root, 'examples'), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    const code = readFileSync(join(root, 'examples', file), 'utf8');
    return {
      page: { path: `examples/${file}`, text: code },
      line: 1,
      language: 'ts',
      info: '',
      code,
      mark: '',
    };
  });

const quotes = allCode.filter((block) => ruleOf(block, 'quotes') !== undefined);

const examples = [...allCode.filter(isCompiled), ...programs];

const fileOfExample = (example: CodeBlock): string =>
  fileOf(`example-${examples.indexOf(example)}.${isJavaScript(example) ? 'mjs' : 'ts'}`);

/** Two errors, by which each way of compiling shows that it finds any. */
const WRONG = `await locks.acquireMutex('a', { timeoutMs: '5' }).then(({ token }) => token);`;
const WRONG_FILES: readonly string[] = [fileOf('wrong.ts'), fileOf('wrong.mjs')];

function compileExamples(
  chosen: readonly CodeBlock[],
  options: Parameters<typeof compile>[1],
): ReadonlyMap<string, readonly string[]> {
  const sources = new Map(chosen.map((example) => [fileOfExample(example), example.code]));
  sources.set(fileOf('presupposed-names.ts'), presupposed);
  for (const file of WRONG_FILES) {
    if (file.endsWith('.ts') || options.allowJs === true) sources.set(file, WRONG);
  }
  return compile(sources, options);
}

const inTypeScript = examples.filter((example) => !isJavaScript(example));

/** How the examples are compiled: the options, and the examples. */
const WAYS: readonly (readonly [string, Parameters<typeof compile>[1], readonly CodeBlock[]])[] = [
  [
    'under exactOptionalPropertyTypes and all other strict options, with checks of libraries',
    { of: 'everything' },
    inTypeScript.filter((example) => !isBesideOthers(example)),
  ],
  [
    'under the same options, beside the types of other libraries',
    { of: 'sources', skipLibCheck: true, experimentalDecorators: true, erasableSyntaxOnly: false },
    inTypeScript.filter(isBesideOthers),
  ],
  [
    'as JavaScript that TypeScript checks',
    {
      of: 'sources',
      ...{ skipLibCheck: true, allowJs: true, checkJs: true },
      // What JavaScript cannot say.
      ...{ noImplicitAny: false, useUnknownInCatchVariables: false },
      ...{ noPropertyAccessFromIndexSignature: false, noUnusedParameters: false },
    },
    examples.filter(isJavaScript),
  ],
];

describe.each(WAYS)('%s', (_, options, chosen) => {
  const complaints = compileExamples(chosen, options);

  test.each(chosen.map((example) => ({ path: example.page.path, line: example.line, example })))(
    'the example at line $line of $path compiles',
    ({ example }) => {
      expect(complaints.get(fileOfExample(example)) ?? []).toEqual([]);
    },
  );

  test('a wrong example has its two errors', () => {
    const found = WRONG_FILES.flatMap((file) => complaints.get(file) ?? []);
    expect(found).toHaveLength(options.allowJs === true ? 4 : 2);
  });

  test.runIf(isOwnDriver && options.of === 'everything')(
    'everything that the examples import compiles without errors',
    () => {
      const files = new Set([...chosen.map(fileOfExample), ...WRONG_FILES]);
      expect([...complaints].filter(([file]) => !files.has(file))).toEqual([]);
    },
  );
});

test('a fence says nothing but how its block is checked, and why not by the rule', () => {
  const unknown = allCode.filter((block) => !isKnown(block));
  expect(unknown.map(({ page, line, info }) => `${page.path}:${line} ${info}`)).toEqual([]);
});

/** The text with each line at the margin: a page shows a part of a file without the indentation of that part. */
const flush = (text: string): string => text.replaceAll(/^[ \t]+/gm, '').trim();

test.each(quotes)('the code at line $line of $page.path is in the file that it quotes', (block) => {
  const file = readFileSync(join(root, ruleOf(block, 'quotes') ?? ''), 'utf8');
  expect(flush(file)).toContain(flush(block.code));
});

test('every page that teaches something has examples', () => {
  const taught = new Set([...examples, ...quotes].map(({ page }) => page.path));
  const teaching = [
    ...pages
      .map(({ path }) => path)
      .filter((path) => /^docs\/(coming-from|using-with)\/(?!index)/.test(path)),
    'README.md',
    'docs/all-or-nothing.md',
    'docs/errors.md',
    'docs/fencing.md',
    'docs/mutex.md',
    'docs/operations.md',
    'docs/reader-writer-lock.md',
    'docs/scheduled-jobs.md',
    'docs/semaphore.md',
    'docs/start.md',
    'docs/troubleshooting.md',
  ];
  expect([...taught]).toEqual(expect.arrayContaining(teaching));
});
