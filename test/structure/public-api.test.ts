import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

import { ENTRIES } from '../../scripts/entries.js';

const sourceFolder = fileURLToPath(new URL('../../src', import.meta.url));

const declared = new Map<string, ts.SourceFile>();

/** The declarations of a file of src, without comments. */
function declarationsOf(path: string): ts.SourceFile {
  const known = declared.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(join(sourceFolder, path), 'utf8');
  const compilerOptions = {
    isolatedDeclarations: true,
    removeComments: true,
    target: ts.ScriptTarget.ESNext,
  };
  const { outputText } = ts.transpileDeclaration(text, { fileName: path, compilerOptions });
  const source = ts.createSourceFile(`${path}.d.ts`, outputText, ts.ScriptTarget.Latest, true);
  declared.set(path, source);
  return source;
}

interface Exported {
  readonly name: string;
  readonly from: string;
}

/** The names that an entry exports, with the files that declare them. */
function exportsOf(entry: string): readonly Exported[] {
  const source = ts.createSourceFile(
    entry,
    readFileSync(join(sourceFolder, entry), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  return source.statements.filter(ts.isExportDeclaration).flatMap((statement) => {
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const from = join(entry, '..', moduleSpecifier.text).replace(/\.js$/, '.ts');
    return exportClause.elements.map(({ name }) => ({ name: name.text, from }));
  });
}

const declares = (statement: ts.Statement, name: string): boolean =>
  ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.some((declaration) => declaration.name.getText() === name)
    : 'name' in statement && (statement.name as ts.Node | undefined)?.getText() === name;

/** The declarations of one name. An overloaded function has several. */
function declarationOf({ name, from }: Exported): string {
  const found = declarationsOf(from).statements.filter((statement) => declares(statement, name));
  if (found.length === 0) throw new Error(`${from} does not declare ${name}`);
  const lines = found.flatMap((statement) => statement.getText().split('\n'));
  return lines.filter((line) => !/^\s*(#?private\b|readonly #|#)/.test(line)).join('\n');
}

it('the public API matches public-api.txt; a change of it belongs in the changelog', async () => {
  const entries = Object.values(ENTRIES).map((path) => path.replace(/^src\//, ''));
  const parts = entries.map((entry) => {
    const exported = [...exportsOf(entry)].sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(exported.length).toBeGreaterThan(2);
    return [`// ${entry}`, ...exported.map(declarationOf)].join('\n\n');
  });
  await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot('./public-api.txt');
});
