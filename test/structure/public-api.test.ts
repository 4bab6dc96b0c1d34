import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

import { ENTRIES } from '../../scripts/entries.js';
import { exportsOf, sourceFolder } from './entry-exports.js';
import type { Exported } from './entry-exports.js';

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
