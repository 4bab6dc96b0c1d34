import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { firstCells, page, pages, root } from './pages.js';
import { sectionOf } from './promises.js';

/** A hazard, an invariant or a bound, as it is cited: S2, L3, E17. */
const NUMBER = /\b(?:E[1-9]\d?|[BLRS][1-9])\b/g;

interface Text {
  readonly path: string;
  readonly text: string;
}

const protocol = page('docs/protocol.md');
const bounds = sectionOf(page('docs/guarantees.md').text, 'The bounds');

const defined: readonly string[] = [
  ...firstCells(protocol, 'Hazards'),
  ...firstCells(protocol, 'Invariants'),
  ...[...bounds.matchAll(/^- \*\*(\w+)\*\*/gm)].map(([, number = '']) => number),
];

const codeBelow = (folder: string): readonly Text[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.endsWith('.ts'))
    .map((file) => join(file.parentPath, file.name))
    .map((file) => ({
      path: relative(root, file).split(sep).join(posix.sep),
      text: readFileSync(file, 'utf8'),
    }));

/** Each citation of a number that has no definition, with its place. */
const undefinedIn = ({ path, text }: Text): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(NUMBER)]
        .filter(([number]) => !defined.includes(number))
        .map(([number]) => `${number} at ${path}:${index + 1}`),
    );

describe('the numbers of hazards, invariants and bounds', () => {
  test('each is defined once', () => {
    const twice = defined.filter((number, index) => defined.indexOf(number) !== index);
    expect(twice).toEqual([]);
  });

  test('each has the form that citations are found by', () => {
    const odd = defined.filter((number) => number.replace(NUMBER, '') !== '');
    expect(odd).toEqual([]);
  });

  test('each one that src, test or a page cites is defined in docs/protocol.md or docs/guarantees.md', () => {
    const texts = [...codeBelow('src'), ...codeBelow('test'), ...pages];
    expect(texts.flatMap(undefinedIn)).toEqual([]);
  });

  test('a citation without a definition would be found', () => {
    const unknown = ['E', 99].join('');
    const found = undefinedIn({ path: 'src/a.ts', text: `// (E1)\n// (S1, ${unknown})` });
    expect(found).toEqual([`${unknown} at src/a.ts:2`]);
  });

  test('there are definitions of every kind', () => {
    expect(new Set(defined.map(([letter]) => letter))).toEqual(new Set(['B', 'E', 'L', 'R', 'S']));
  });
});
