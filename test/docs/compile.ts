import { join } from 'node:path';
import ts from 'typescript';

import { ENTRIES } from '../../scripts/entries.js';
import { root } from './pages.js';

/** A path beside the tests, so that `mongodb` is found. The file does not exist on the disk. */
export const fileOf = (name: string): string => join(root, 'test', 'docs', name).replaceAll('\\', '/');

/** `leasehold` and its entries as the checked-out sources. */
const paths = Object.fromEntries(
  Object.entries(ENTRIES).map(([name, source]) => [
    name === 'index' ? 'leasehold' : `leasehold/${name}`,
    [join(root, source)],
  ]),
);

/** The project's own strict options. */
function ownOptions(): ts.CompilerOptions {
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
  return config?.options ?? {};
}

/** The parsed files of the disk, which all programs share. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function makeProgram(sources: ReadonlyMap<string, string>, changed: ts.CompilerOptions): ts.Program {
  // An example may only show how to get a value, without using it.
  const options = { ...ownOptions(), skipLibCheck: false, noUnusedLocals: false, paths, ...changed };
  const host = ts.createCompilerHost(options);
  const disk = { ...host };
  host.fileExists = (file) => sources.has(file) || disk.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? disk.readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const source = sources.get(file);
    if (source !== undefined) return ts.createSourceFile(file, source, target);
    if (!parsed.has(file)) parsed.set(file, disk.getSourceFile(file, target, ...rest));
    return parsed.get(file);
  };
  return ts.createProgram({ rootNames: [...sources.keys()], options, host });
}

/**
 * Compiles all sources at once, each as a module of its own, and returns the errors by file: those of the sources, or
 * those of everything that they import too, which takes much longer.
 */
export function compile(
  sources: ReadonlyMap<string, string>,
  { of, ...changed }: ts.CompilerOptions & { readonly of: 'sources' | 'everything' },
): ReadonlyMap<string, readonly string[]> {
  const program = makeProgram(sources, changed);
  const checked =
    of === 'everything'
      ? [undefined]
      : [...sources.keys()].flatMap((file) => program.getSourceFile(file) ?? []);
  const complaints = new Map<string, string[]>();
  for (const { file, start = 0, messageText } of checked.flatMap((file) =>
    ts.getPreEmitDiagnostics(program, file),
  )) {
    const name = file?.fileName ?? '';
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0;
    const complaint = `line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    complaints.set(name, [...(complaints.get(name) ?? []), complaint]);
  }
  return complaints;
}
