import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import { ALL_MUTATIONS } from '../simulation/mutations/all-mutations.js';
import { root } from './pages.js';
import { citationsIn, museum } from './promises.js';

const planted = new Set(ALL_MUTATIONS.map(({ name }) => name));
const exhibits = museum.text.split('\n').filter((line) => line.startsWith('- '));

test('there are exhibits', () => {
  expect(exhibits.length).toBeGreaterThan(50);
});

describe.each(exhibits)('%s', (line) => {
  const [, names = ''] = /^- planted ((?:`[\w-]+`(?:, )?)+) – /.exec(line) ?? [];
  const citations = citationsIn(line);

  it('names the bug and what finds it', () => {
    expect(line).toMatch(/ – .+/);
    expect(citations.length + names.length).toBeGreaterThan(0);
  });

  it('names planted bugs that are planted', () => {
    const named = [...names.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !planted.has(name))).toEqual([]);
  });

  it('names tests that are there, and are not skipped', () => {
    for (const { file, title } of citations) {
      const text = readFileSync(join(root, file), 'utf8');
      const before = text.slice(0, text.indexOf(title));
      expect(text, file).toContain(title);
      expect(before.slice(before.lastIndexOf('\n')), `${file}: ${title}`).not.toMatch(
        /\.skip|\.todo|\/\/|\*/,
      );
    }
  });
});
