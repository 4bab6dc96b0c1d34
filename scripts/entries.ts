// The entries of the package. A further entry is one line here; then `npm run exports` writes the fields of package.json
// that follow from it, and a test compares the two.

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

/**
 * How the command line is built. commander is built in, so that nobody who uses only the library installs it. commander
 * is CommonJS, and calls `require` for modules of Node.js.
 */
export const COMMAND_LINE = {
  entry: { main: 'src/cli/main.ts' },
  format: 'esm',
  target: 'node20',
  tsconfig: 'tsconfig.build.json',
  banner: {
    js: "import { createRequire as leaseholdRequire } from 'node:module'; const require = leaseholdRequire(import.meta.url);",
  },
} as const;

/**
 * How the command line uses the built library, which is `../index.js` to the sources and to the result alike. The entry of
 * the dashboard is one folder deeper in the sources.
 */
export const BESIDE_LIBRARY: Pick<Options, 'external' | 'esbuildPlugins'> = {
  external: ['../index.js'],
  esbuildPlugins: [
    {
      name: 'entries beside the library',
      setup: (build) => {
        build.onResolve({ filter: /^\.\.\/dashboard\/index\.js$/ }, () => ({
          path: '../dashboard.js',
          external: true,
        }));
      },
    },
  ],
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
