import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { page, pages, root } from './pages.js';
import type { Page } from './pages.js';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Of `npm run check` and `npm test`: check, test. Only what stands in code counts. */
const scriptsNamed = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/(?:`|^)npm (?:run )?([a-z][\w:-]*)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !['ci', 'install'].includes(name));

/** Files and folders of the repository that stand in code: `test/support`. */
const pathsNamed = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/[` ]((?:src|lab|test)\/[\w./-]+)(?=[` ])/g)].map(([, path = '']) => path);

describe('what the pages tell to run', () => {
  test.each(pages)('$path: each script is one of package.json', (from) => {
    const unknown = scriptsNamed(from).filter((name) => !(name in scripts));
    expect(unknown).toEqual([]);
  });

  test('CONTRIBUTING.md names files and folders that exist', () => {
    const contributing = page('CONTRIBUTING.md');
    expect(pathsNamed(contributing).filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(pathsNamed(contributing)).toContain('lab/patience.ts');
    expect(scriptsNamed(contributing)).toEqual(
      expect.arrayContaining(['test', 'test:long', 'check', 'bench']),
    );
  });
});
