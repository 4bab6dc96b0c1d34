import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { edited, MUTATIONS, sourceOf } from '../../faults/mutations/mutant.js';
import { ALL_MUTATIONS } from './all-mutations.js';
import { rowsOfPage } from './table.js';

const rows = await rowsOfPage();

describe('the list of bugs that the simulation plants', () => {
  const names = ALL_MUTATIONS.map(({ name }) => name);

  it('has a name of its own for each, and at least twenty that no trial on real servers shows', () => {
    expect(new Set(names).size).toBe(names.length);
    expect(names.length - MUTATIONS.length).toBeGreaterThanOrEqual(20);
  });

  it('is the table of docs/simulation.md, in which each bug is found, and most of them within 100 seeds', () => {
    const described = ALL_MUTATIONS.map(({ name, breaks }) => ({ name, breaks }));
    expect(rows.map(({ name, breaks }) => ({ name, breaks }))).toEqual(described);
    const seeds = rows.map(({ seed }) => seed);
    expect(seeds.filter((seed) => seed >= 1 && seed <= 10_000)).toHaveLength(names.length);
    expect(seeds.filter((seed) => seed <= 100).length).toBeGreaterThan(names.length / 2);
  });

  it.each(ALL_MUTATIONS)('changes a text that occurs once in its file: $name', ({ edits }) => {
    const texts = new Map<string, string>();
    for (const edit of edits) {
      const text = texts.get(edit.file) ?? readFileSync(sourceOf(edit.file), 'utf8');
      const changed = edited(text, edit);
      expect(changed).not.toBe(text);
      texts.set(edit.file, changed);
    }
  });
});
