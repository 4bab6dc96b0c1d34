import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, test } from 'vitest';

import { codeBlocks, pages, root } from './pages.js';
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
const programs = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    const code = readFileSync(join(root, 'examples', file), 'utf8');
    return { page: { path: `examples/${file}`, text: code }, line: 1, language: 'ts', code, mark: '' };
  });

const examples = [...pages.flatMap((page) => codeBlocks(page, 'ts')), ...programs];

/** A path beside the tests, so that `mongodb` is found. The file does not exist on the disk. */
const fileOf = (name: string): string => join(root, 'test', 'docs', `${name}.ts`).replaceAll('\\', '/');

const exampleFile = (index: number): string => fileOf(`example-${index}`);

/** The project's own strict options, with checks of libraries. `leasehold` is the checked-out source. */
function compilerOptions(): ts.CompilerOptions {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
      },
    },
  );
  return {
    ...config?.options,
    skipLibCheck: false,
    // An example may only show how to get a value, without using it.
    noUnusedLocals: false,
    paths: {
      leasehold: [join(root, 'src', 'index.ts')],
      'leasehold/quorum': [join(root, 'src', 'quorum', 'index.ts')],
      'leasehold/testing': [join(root, 'src', 'testing', 'index.ts')],
    },
  };
}

/** Compiles all examples at once, each as a module of its own, and returns the errors by file. */
function compile(sources: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const disk = { ...host };
  host.fileExists = (file) => sources.has(file) || disk.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? disk.readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const source = sources.get(file);
    return source === undefined
      ? disk.getSourceFile(file, target, ...rest)
      : ts.createSourceFile(file, source, target);
  };
  const program = ts.createProgram({ rootNames: [...sources.keys()], options, host });
  const complaints = new Map<string, string[]>();
  for (const { file, start = 0, messageText } of ts.getPreEmitDiagnostics(program)) {
    const name = file?.fileName ?? '';
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0;
    const complaint = `line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    complaints.set(name, [...(complaints.get(name) ?? []), complaint]);
  }
  return complaints;
}

describe('under exactOptionalPropertyTypes and all other strict options', () => {
  let complaints: ReadonlyMap<string, readonly string[]>;

  beforeAll(() => {
    const sources = new Map(examples.map(({ code }, index) => [exampleFile(index), code]));
    complaints = compile(sources.set(fileOf('presupposed-names'), presupposed));
  });

  test.each(examples.map((example, index) => ({ index, ...example })))(
    'the example at line $line of $page.path compiles',
    ({ index }) => {
      expect(complaints.get(exampleFile(index)) ?? []).toEqual([]);
    },
  );

  test.runIf(isOwnDriver)(
    'the library and its dependencies compile without errors, with checks of libraries',
    () => {
      const elsewhere = [...complaints].filter(
        ([file]) => !examples.some((_, at) => exampleFile(at) === file),
      );
      expect(elsewhere).toEqual([]);
    },
  );

  test('a wrong example causes errors', () => {
    const wrong = `await locks.acquireMutex('a', { timeoutMs: '5' }).then(({ token }) => token);`;
    const found = compile(
      new Map([
        [exampleFile(0), wrong],
        [fileOf('presupposed-names'), presupposed],
      ]),
    );
    expect(found.get(exampleFile(0))).toHaveLength(2);
  });

  test('every page that teaches something has examples', () => {
    const taught = new Set(examples.map(({ page }) => page.path));
    const teaching = [
      'README.md',
      'docs/all-or-nothing.md',
      'docs/errors.md',
      'docs/fencing.md',
      'docs/mutex.md',
      'docs/operations.md',
      'docs/reader-writer-lock.md',
      'docs/scheduled-jobs.md',
      'docs/semaphore.md',
    ];
    expect([...taught]).toEqual(expect.arrayContaining(teaching));
  });
});
