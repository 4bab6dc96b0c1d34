// Translates the built ES modules into CommonJS files, one for one: `index.js` into `index.cjs`, `index.d.ts` into
// `index.d.cts`. So both have the same parts, and an entry shares its classes with the others in either of them.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { transform } from 'esbuild';

const dist = fileURLToPath(new URL('../dist', import.meta.url));

/** Own files are imported as `./name.js`. */
const toCommonJs = (text: string): string => text.replaceAll(/(["'])(\.\/[\w-]+)\.js\1/g, '$1$2.cjs$1');

async function translateModule(name: string): Promise<void> {
  const text = readFileSync(join(dist, name), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '');
  const map = readFileSync(join(dist, `${name}.map`)).toString('base64');
  const { code, map: composed } = await transform(
    `${text}\n//# sourceMappingURL=data:application/json;base64,${map}`,
    { format: 'cjs', platform: 'node', target: 'node20', sourcefile: name, sourcemap: 'external' },
  );
  const target = name.replace(/\.js$/, '.cjs');
  writeFileSync(join(dist, target), `${toCommonJs(code)}//# sourceMappingURL=${target}.map\n`);
  writeFileSync(join(dist, `${target}.map`), composed);
}

for (const name of readdirSync(dist)) {
  if (name.endsWith('.js')) await translateModule(name);
  if (!name.endsWith('.d.ts')) continue;
  const text = readFileSync(join(dist, name), 'utf8');
  writeFileSync(join(dist, name.replace(/\.d\.ts$/, '.d.cts')), toCommonJs(text));
}
