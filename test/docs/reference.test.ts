import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

import * as leasehold from '../../src/index.js';
import { firstCells, page, root } from './pages.js';

function sourceOf(file: string): ts.SourceFile {
  const text = readFileSync(join(root, 'src', file), 'utf8');
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

/** The members of an exported interface, in the order in which they are written. */
function membersOf(file: string, name: string): readonly string[] {
  const found = sourceOf(file).statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (found === undefined || !ts.isInterfaceDeclaration(found)) throw new Error(`${file}: no ${name}`);
  return found.members.map((member) => member.name?.getText() ?? '');
}

/** The strings of an exported union. */
function stringsOf(file: string, name: string): readonly string[] {
  const found = sourceOf(file).statements.find(
    (statement) => ts.isTypeAliasDeclaration(statement) && statement.name.text === name,
  );
  if (found === undefined || !ts.isTypeAliasDeclaration(found)) throw new Error(`${file}: no ${name}`);
  return [...found.type.getText().matchAll(/'([^']+)'/g)].map(([, text = '']) => text);
}

const errorClasses = Object.entries(leasehold)
  .filter(([, value]) => value.prototype instanceof leasehold.LeaseholdError)
  .map(([name]) => name);

describe('docs/operations.md', () => {
  const operations = page('docs/operations.md');

  test('describes every option of a provider, and no other', () => {
    const options = membersOf('options.ts', 'LockProviderOptions');
    expect(firstCells(operations, 'Options')).toEqual(options);
  });

  test('describes every event, and no other', () => {
    expect(firstCells(operations, 'Events')).toEqual(membersOf('events.ts', 'LockProviderEvents'));
  });
});

describe('docs/errors.md', () => {
  const errors = page('docs/errors.md');

  test('describes every error, and no other', () => {
    expect([...firstCells(errors, 'By code')].sort()).toEqual([...errorClasses].sort());
  });

  test('names every code', () => {
    const missing = stringsOf('errors.ts', 'LeaseholdErrorCode').filter(
      (code) => !errors.text.includes(`\`${code}\``),
    );
    expect(missing).toEqual([]);
  });

  test('describes every way to lose, and no other', () => {
    expect(firstCells(errors, 'Ways to lose')).toEqual(stringsOf('errors.ts', 'LossCause'));
  });
});

describe('docs/architecture.md', () => {
  test('shows every file of src, and no other', () => {
    const [, picture = ''] = page('docs/architecture.md').text.split('```');
    const [source = ''] = picture.split(/^test\//m);
    const shown = [...source.matchAll(/^ +([\w-]+\.ts) /gm)].map(([, name = '']) => name);
    const files = ts.sys.readDirectory(join(root, 'src'), ['.ts']);
    expect(shown.sort()).toEqual(files.map((file) => file.split('/').at(-1)).sort());
  });
});
