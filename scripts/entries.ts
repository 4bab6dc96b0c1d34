// The entries of the package. A further entry is one line here; then `npm run exports` writes the fields of package.json
// that follow from it, and a test compares the two.

import driver from 'mongodb/package.json' with { type: 'json' };
import type { Options } from 'tsup';

/** The name of each entry below `leasehold/`, and its source; `index` is `leasehold` itself. */
export const ENTRIES: Readonly<Record<string, string>> = {
  index: 'src/index.ts',
  dashboard: 'src/dashboard/index.ts',
  'node-cron': 'src/node-cron/index.ts',
  opentelemetry: 'src/opentelemetry/index.ts',
  quorum: 'src/quorum/index.ts',
  testing: 'src/testing/index.ts',
};

/** What the driver loads only for certain servers and credentials, from the packages that are installed. */
const LOADED_BY_DRIVER = Object.keys(driver.peerDependencies);

/**
 * How the command line is built: the library, the driver and all their packages are inside. Node.js loads the 200 files of
 * the driver about 50 ms slower than one. Some of them are CommonJS, and call `require` for modules of Node.js.
 */
export const COMMAND_LINE: Options = {
  entry: { main: 'src/cli/main.ts' },
  format: 'esm',
  target: 'node20',
  tsconfig: 'tsconfig.build.json',
  noExternal: [/./],
  banner: {
    js: "import { createRequire as leaseholdRequire } from 'node:module'; const require = leaseholdRequire(import.meta.url);",
  },
  esbuildOptions: (options) => {
    // Here and not as an option of tsup, of which `noExternal` leaves nothing.
    options.external = [...(options.external ?? []), ...LOADED_BY_DRIVER];
    // The driver parses connection strings by an implementation of the URL standard in JavaScript, which takes 40 ms to
    // load. That of Node.js follows the same standard.
    options.alias = { 'whatwg-url': 'node:url' };
    // Node.js reads through all of a file before it runs the first line. Names are kept for the stack traces.
    options.minifyWhitespace = true;
    options.minifySyntax = true;
  },
};

export interface EntryFields {
  readonly bin: object;
  readonly exports: object;
  readonly main: string;
  readonly types: string;
  readonly typesVersions: object;
}

/** The fields of package.json by which runtimes, bundlers and TypeScript find the entries. */
export function entryFields(entries: Readonly<Record<string, string>> = ENTRIES): EntryFields {
  const names = Object.keys(entries);
  const exported = names.map((name) => [name === 'index' ? '.' : `./${name}`, conditionsOf(name)]);
  const typed = names.filter((name) => name !== 'index').map((name) => [name, [`./dist/${name}.d.cts`]]);
  return {
    bin: { leasehold: 'dist/cli/main.js' },
    exports: { ...(Object.fromEntries(exported) as object), './package.json': './package.json' },
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    // TypeScript with `moduleResolution: node10` does not read `exports`.
    typesVersions: { '*': Object.fromEntries(typed) as object },
  };
}

/**
 * Node.js finds `module-sync` for `import` and for `require`, so a process that does both has one copy of the library.
 * Tools that cannot `require` an ES module, such as Jest, find `require`.
 */
function conditionsOf(name: string): object {
  const modules = { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` };
  const commonJs = { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` };
  return { import: modules, 'module-sync': modules, require: commonJs };
}
