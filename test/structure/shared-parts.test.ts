import { expect, it } from 'vitest';

import { circlesOf, inWords, isOwn, sourceFiles } from './source-files.js';

const FOLDERS = ['lab', 'test', 'benchmarks'] as const;

const imports = sourceFiles('.', FOLDERS)
  .flatMap((file) => file.imports)
  .filter(({ to }) => isOwn(to));

function between(from: string, to: string): readonly string[] {
  const isIn = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);
  return imports.filter((each) => isIn(each.from, from) && isIn(each.to, to)).map(inWords);
}

it('lab has what tests and benchmarks share, and imports nothing of either', () => {
  expect(between('test', 'lab').length).toBeGreaterThan(50);
  expect([...between('lab', 'test'), ...between('lab', 'benchmarks')]).toEqual([]);
});

it('tests and benchmarks import nothing of each other', () => {
  expect([...between('test', 'benchmarks'), ...between('benchmarks', 'test')]).toEqual([]);
});

it.each(FOLDERS)('%s has no circle of imports between files, types included', (folder) => {
  const own = imports.filter(({ from, to }) => [from, to].every((path) => path.startsWith(`${folder}/`)));
  expect(own.length).toBeGreaterThan(5);
  expect(circlesOf(own.map(({ from, to }) => [from, to]))).toEqual([]);
});
