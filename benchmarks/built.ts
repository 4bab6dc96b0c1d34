import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'tsup';

/** Inside the project, so that the built program finds the packages of the project. */
const folder = fileURLToPath(new URL('../.cache/benchmarks/', import.meta.url));

/**
 * Builds a program as the package is built. Do not run the sources where bytes and microseconds count: the loader names
 * every function again, which takes 350 bytes for each closure of a hold (measured).
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
