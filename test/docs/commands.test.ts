import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { page, pages, root } from './pages.js';
import type { Page } from './pages.js';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

const COMMANDS_OF_NPM = ['ci', 'init', 'install', 'pack', 'publish', 'uninstall', 'version'];

/** The names of npm scripts in a page: for `npm run check` and `npm test`, check and test. Only code counts. */
const scriptsNamed = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/(?:`|^)npm (?:run )?([a-z][\w:-]*)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !COMMANDS_OF_NPM.includes(name));

/** Files and folders of the repository that the code of a page names: `test/support`. */
const pathsNamed = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/[` ]((?:src|lab|test)\/[\w./-]+)(?=[` ])/g)].map(([, path = '']) => path);

describe('the commands of the pages', () => {
  test.each(pages)('$path names only scripts of package.json', (from) => {
    const unknown = scriptsNamed(from).filter((name) => !(name in scripts));
    expect(unknown).toEqual([]);
  });

  test('CONTRIBUTING.md names only files and folders that exist', () => {
    const contributing = page('CONTRIBUTING.md');
    expect(pathsNamed(contributing).filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(pathsNamed(contributing)).toContain('lab/patience.ts');
    expect(scriptsNamed(contributing)).toEqual(
      expect.arrayContaining(['test', 'test:long', 'check', 'bench']),
    );
  });
});
