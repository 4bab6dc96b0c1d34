import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { MUTATIONS } from './mutant.js';

describe('the list of planted bugs', () => {
  it('has at least twenty bugs, each with a name of its own', () => {
    const names = MUTATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(20);
  });

  it('matches the table of docs/faults.md', () => {
    const faults = readFileSync(new URL('../../../docs/faults.md', import.meta.url), 'utf8');
    const rows = [...faults.matchAll(/^\| `([\w-]+)` +\| (.*?) +\|/gm)];
    const described = new Map(rows.map(([, name, what]) => [name, what?.replaceAll('`', '')]));
    const missing = MUTATIONS.filter(
      ({ name, breaks }) => described.get(name) !== breaks.replaceAll('`', ''),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
