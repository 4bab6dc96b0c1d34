import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { firstCells, page, pages, root } from './pages.js';
import { sectionOf } from './promises.js';

/** The number of a hazard, an invariant or a bound: S2, L3, E17. */
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

/** Each citation of an undefined number, with its file and line. */
const undefinedIn = ({ path, text }: Text): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(NUMBER)]
        .filter(([number]) => !defined.includes(number))
        .map(([number]) => `${number} at ${path}:${index + 1}`),
    );

describe('the numbers of hazards, invariants and bounds', () => {
  test('are defined once each', () => {
    const twice = defined.filter((number, index) => defined.indexOf(number) !== index);
    expect(twice).toEqual([]);
  });

  test('have the form that the search for citations expects', () => {
    const odd = defined.filter((number) => number.replace(NUMBER, '') !== '');
    expect(odd).toEqual([]);
  });

  test('are all defined in docs/protocol.md or docs/guarantees.md if src, test or a page cites them', () => {
    const texts = [...codeBelow('src'), ...codeBelow('test'), ...pages];
    expect(texts.flatMap(undefinedIn)).toEqual([]);
  });

  test('are found if they are cited without a definition', () => {
    const unknown = ['E', 99].join('');
    const found = undefinedIn({ path: 'src/a.ts', text: `// (E1)\n// (S1, ${unknown})` });
    expect(found).toEqual([`${unknown} at src/a.ts:2`]);
  });

  test('have definitions of every kind', () => {
    expect(new Set(defined.map(([letter]) => letter))).toEqual(new Set(['B', 'E', 'L', 'R', 'S']));
  });
});
