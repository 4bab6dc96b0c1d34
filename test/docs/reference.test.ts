import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

import * as leasehold from '../../src/index.js';
import { firstCells, page, root } from './pages.js';

const files = ts.sys.readDirectory(join(root, 'src'), ['.ts']);

const statements = files.flatMap((file) => {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  return [...source.statements];
});

/** The members of an interface, in the order of the source. */
function membersOf(name: string): readonly string[] {
  const found = statements.filter(ts.isInterfaceDeclaration).find((each) => each.name.text === name);
  if (found === undefined) throw new Error(`no interface ${name}`);
  return found.members.map((member) => member.name?.getText() ?? '');
}

function typeOf(name: string): ts.TypeNode {
  const found = statements.filter(ts.isTypeAliasDeclaration).find((each) => each.name.text === name);
  if (found === undefined) throw new Error(`no type ${name}`);
  return found.type;
}

/** The strings of a union. */
const stringsOf = (name: string): readonly string[] =>
  [
    ...typeOf(name)
      .getText()
      .matchAll(/'([^']+)'/g),
  ].map(([, text = '']) => text);

/** The first members of the types of a union. */
function waysOf(name: string): readonly string[] {
  const type = typeOf(name);
  if (!ts.isUnionTypeNode(type)) throw new Error(`${name} is no union`);
  return type.types.map((way) => membersOf(way.getText())[0] ?? '');
}

/** Names of methods and getters, from cells like `await lock.confirm()`. */
const calls = (cells: readonly string[]): readonly string[] =>
  cells.map((cell) => /(?:^|\.)(\w+)(?:\(|$)/.exec(cell)?.[1] ?? cell);

const sorted = (all: readonly string[]): readonly string[] => [...new Set(all)].sort();

const errorClasses = Object.entries(leasehold)
  .filter(([, value]) =>
    Object.prototype.isPrototypeOf.call(leasehold.LeaseholdError.prototype, value.prototype),
  )
  .map(([name]) => name);

describe('docs/operations.md', () => {
  const operations = page('docs/operations.md');

  test('describes every option of a provider, and no other', () => {
    const options = membersOf('LockProviderOptions');
    expect(firstCells(operations, 'Options')).toEqual(options);
  });

  test('describes every event, and no other', () => {
    expect(firstCells(operations, 'Events')).toEqual(membersOf('LockProviderEvents'));
  });
});

describe('docs/errors.md', () => {
  const errors = page('docs/errors.md');

  test('describes every error, and no other', () => {
    expect([...firstCells(errors, 'By code')].sort()).toEqual([...errorClasses].sort());
  });

  test('names every code', () => {
    const missing = stringsOf('LeaseholdErrorCode').filter((code) => !errors.text.includes(`\`${code}\``));
    expect(missing).toEqual([]);
  });

  test('describes every cause of a loss, and no other', () => {
    expect(firstCells(errors, 'Ways to lose')).toEqual(stringsOf('LossCause'));
  });
});

describe.each([
  { path: 'docs/mutex.md', title: 'The mutex', of: 'Mutex' },
  { path: 'docs/reader-writer-lock.md', title: 'The reader-writer lock', of: 'ReaderWriterLock' },
  { path: 'docs/semaphore.md', title: 'The semaphore', of: 'Semaphore' },
])('$path', ({ path, title, of }) => {
  test('has every method of the primitive in its table, and no other', () => {
    const methods = membersOf(of).filter((member) => member !== 'name' && member !== 'limit');
    expect(sorted(calls(firstCells(page(path), title)))).toEqual(sorted(methods));
  });
});

describe('docs/reader-writer-lock.md', () => {
  test('has every method of the handle in its table, and no other', () => {
    const asked = calls(firstCells(page('docs/reader-writer-lock.md'), 'While you hold it'));
    expect(sorted(asked)).toEqual(sorted(membersOf('ReaderWriterHandle')));
  });
});

describe('docs/semaphore.md', () => {
  test('has every value of whenLimitDiffers in its table, and no other', () => {
    const ways = firstCells(page('docs/semaphore.md'), 'The limit').map((cell) => cell.split("'")[1] ?? '');
    expect(sorted(ways)).toEqual(sorted(stringsOf('WhenLimitDiffers')));
  });
});

describe('docs/all-or-nothing.md', () => {
  const allOrNothing = page('docs/all-or-nothing.md');

  test('has every kind of request in its table, and no other', () => {
    const [, , ...requests] = firstCells(allOrNothing, 'Several locks, all or nothing').filter((cell) =>
      /^\{|^acquire|^try/.test(cell),
    );
    const ways = requests.map((cell) => /\w+/.exec(cell)?.[0] ?? '');
    expect(sorted(ways)).toEqual(sorted(waysOf('LockRequest')));
  });

  test('has every member of the handle in its table, and no other', () => {
    const asked = calls(firstCells(allOrNothing, 'While you hold them'));
    expect(sorted(asked)).toEqual(sorted([...membersOf('Hold'), ...membersOf('CompositeHandle')]));
  });
});

describe('docs/architecture.md', () => {
  test('shows every file of src, and no other', () => {
    const [, picture = ''] = page('docs/architecture.md').text.split('```');
    const [source = ''] = picture.split(/^test\//m);
    const shown = [...source.matchAll(/^ +([\w-]+\.ts) /gm)].map(([, name = '']) => name);
    expect(shown.sort()).toEqual(files.map((file) => basename(file)).sort());
  });
});
