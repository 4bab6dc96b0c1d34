import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'tsup';

/** In the project, so that what is built finds the packages of the project. */
const folder = fileURLToPath(new URL('../.cache/benchmarks/', import.meta.url));

/**
 * A program, built as the package is. Where bytes and microseconds count, running the sources would not do: their loader
 * gives every function its name anew, which takes 350 bytes for each closure that a hold has (measured).
 */
export async function built(source: URL): Promise<URL> {
  const entry = fileURLToPath(source);
  const name = basename(entry, '.ts');
  await build({
    entry: { [name]: entry },
    format: 'esm',
    target: 'node20',
    outDir: folder,
    skipNodeModulesBundle: true,
    config: false,
    silent: true,
  });
  return pathToFileURL(join(folder, `${name}.js`));
}
