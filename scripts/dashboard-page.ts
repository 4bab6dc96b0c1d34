// Makes src/dashboard/page-source.ts of the folder page: the page as texts, so that the handler needs no file at run time.
// `npx vitest run test/behaviour/dashboard/page-source.test.ts -u` writes it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, transform } from 'esbuild';
import { format, resolveConfig } from 'prettier';

const folder = fileURLToPath(new URL('../src/dashboard/page', import.meta.url));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

async function script(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'main.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    tsconfig: join(folder, 'tsconfig.json'),
    write: false,
  });
  return outputFiles[0]?.text.trim() ?? '';
}

export async function dashboardPage(): Promise<string> {
  const style = await transform(read('page.css'), { loader: 'css', minify: true });
  // The policy of the page has the hashes of what is between the tags, blanks included.
  const html = read('page.html').replaceAll(/<(style|script)>[^]*?<\/\1>/g, '<$1>/*$1*/</$1>');
  const texts = { HTML: html, STYLE: style.code.trim(), SCRIPT: await script() };
  const lines = Object.entries(texts).map(
    ([name, text]) => `export const ${name} = ${JSON.stringify(text)};`,
  );
  const head =
    '// Made of the folder page by scripts/dashboard-page.ts, and not by hand. A test compares the two.';
  const source = [head, ...lines].join('\n\n');
  return await format(source, { ...(await resolveConfig(folder)), parser: 'typescript' });
}
