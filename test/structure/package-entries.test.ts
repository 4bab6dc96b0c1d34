import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { ROOT } from '../../lab/processes/program.js';
import { ENTRIES, entryFields } from '../../scripts/entries.js';

const read = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Record<string, unknown>;

it('package.json has the entries of scripts/entries.ts; `npm run exports` writes them', () => {
  expect(read('package.json')).toMatchObject(entryFields());
  expect(Object.keys(read('package.json')['exports'] as object)).toHaveLength(
    Object.keys(ENTRIES).length + 1,
  );
});

it('tsconfig.json and typedoc.json name the sources of all entries', () => {
  const { compilerOptions } = read('tsconfig.json') as { compilerOptions: { paths: object } };
  const sources = Object.values(ENTRIES);
  expect(Object.values(compilerOptions.paths).flat()).toEqual(sources.map((path) => `./${path}`));
  expect(read('typedoc.json')['entryPoints']).toEqual(sources);
});

it('a further entry gets a branch for `import`, one for `require`, and types for each', () => {
  const { exports, typesVersions } = entryFields({ index: 'src/index.ts', more: 'src/more/index.ts' });
  const modules = { types: './dist/more.d.ts', default: './dist/more.js' };
  const commonJs = { types: './dist/more.d.cts', default: './dist/more.cjs' };
  expect(exports).toHaveProperty(['./more'], { import: modules, 'module-sync': modules, require: commonJs });
  expect(typesVersions).toEqual({ '*': { more: ['./dist/more.d.cts'] } });
});
