// Makes src/dashboard/page-source.ts of the folder page: the page as texts, so that the handler needs no file at run time.
// `npx vitest run test/behaviour/dashboard/page-source.test.ts -u` writes it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';

const folder = fileURLToPath(new URL('../src/dashboard/page', import.meta.url));

async function style(): Promise<string> {
  const entryPoints = [join(folder, 'page.css')];
  const { outputFiles } = await build({ entryPoints, bundle: true, minify: true, write: false });
  return outputFiles[0]?.text.trim() ?? '';
}

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
  // The policy of the page has the hashes of what is between the tags, blanks included.
  const page = readFileSync(join(folder, 'page.html'), 'utf8');
  const html = page.replaceAll(/<(style|script)>[^]*?<\/\1>/g, '<$1>/*$1*/</$1>');
  const texts = { HTML: html, STYLE: await style(), SCRIPT: await script() };
  const lines = Object.entries(texts).map(
    ([name, text]) => `export const ${name} = ${JSON.stringify(text)};`,
  );
  const head =
    '// Made of the folder page by scripts/dashboard-page.ts, and not by hand. A test compares the two.';
  const source = [head, ...lines].join('\n\n');
  return await format(source, { ...(await resolveConfig(folder)), parser: 'typescript' });
}
