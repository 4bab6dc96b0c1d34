import ts from 'typescript';
import { expect, it } from 'vitest';
import { sourceFiles } from './source-files.js';
import type { SourceFile } from './source-files.js';

/** What makes two runs of the same program differ, and the files that may use it. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  'Math.random': ['chance.ts'],
  randomBytes: ['chance.ts'],
  randomUUID: [],
  getRandomValues: [],
  'process.nextTick': ['clock.ts', 'chance.ts'],
  setImmediate: ['clock.ts', 'testing/time/turns.ts'],
  setTimeout: ['clock.ts'],
  setInterval: ['keep-alive.ts'],
  'performance.now': ['clock.ts'],
  'Date.now': ['clock.ts'],
  'AbortSignal.timeout': [],
  hostname: ['surroundings.ts'],
  FinalizationRegistry: ['collected-handles.ts'],
};

/** Whether a file may name a source, told without parsing it. */
const ANY = new RegExp([...Object.keys(SOURCES), 'new Date'].join('|').replaceAll('.', '\\.'));

/** The sources that a file names outside of comments, strings and imports; also `new Date()` without an argument. */
function sourcesIn(path: string, text: string): readonly string[] {
  const found: string[] = [];
  if (!ANY.test(text)) return found;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) {
      if (Object.hasOwn(SOURCES, node.getText())) found.push(node.getText());
    }
    if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && node.arguments?.length === 0) {
      found.push('new Date()');
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

it('only the surroundings of a process use clocks, timers, turns of the event loop and random numbers', () => {
  // No simulation runs the command line, which is a program, or the page of the dashboard, which is in a browser.
  const isSimulated = ({ path }: SourceFile): boolean => !/^(cli|dashboard\/page)\//.test(path);
  const simulated = sourceFiles('src').filter(isSimulated);
  const uses = simulated.flatMap(({ path, text }) =>
    sourcesIn(path, text).map((source) => ({ path, source })),
  );
  expect(uses.length).toBeGreaterThan(8);
  expect(uses.filter(({ path, source }) => SOURCES[source]?.includes(path) !== true)).toEqual([]);
});

it('finds the use of a source', () => {
  expect(sourcesIn('a.ts', 'const a = Math.random(), b = new Date(); // Date.now')).toEqual([
    'Math.random',
    'new Date()',
  ]);
});
