import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';

import { circlesOf, inWords, isOwn, sourceFiles } from './source-files.js';
import type { Import } from './source-files.js';

const MAX_LINES = 300;

const files = sourceFiles('src');

const imports = files.flatMap((file) => file.imports);

/** What the engine of a provider connects. The entry and the provider name types of these, too. */
const ENGINE: readonly string[] = ['election', 'admin', 'primitives', 'lease', 'store', 'protocol'];

/** The layers that each layer may import, besides itself and the files that every layer may import. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  index: ['provider', 'quorum', 'fencing', 'schedule', ...ENGINE],
  cli: ['index', 'dashboard'],
  dashboard: ['provider', 'engine-of', 'engine', 'admin', 'store', 'protocol'],
  fencing: ['lease'],
  testing: ['protocol'],
  'node-cron': ['provider', 'engine-of', 'engine', 'schedule', 'lease', 'store', 'protocol'],
  opentelemetry: ['provider', 'quorum'],
  quorum: ['engine', 'primitives', 'lease', 'store', 'protocol'],
  'engine-of': ['engine'],
  provider: ['engine-of', 'engine', 'schedule', ...ENGINE],
  schedule: ['election', 'lease', 'store', 'protocol'],
  engine: ENGINE,
  election: ['primitives', 'lease', 'store', 'protocol'],
  admin: ['store', 'protocol'],
  primitives: ['lease', 'store', 'protocol'],
  lease: ['store', 'protocol'],
  store: ['protocol'],
  protocol: [],
};

/** Every layer may import these. They import only types of protocol, and constants of one file. */
const EVERYWHERE: readonly string[] = [
  ...[
    'options',
    'errors',
    'leasehold-error',
    'error-text',
    'driver-types',
    'events',
    'isolated-emitter',
    'clock',
    'chance',
    'surroundings',
    'collected-handles',
    'backoff',
    'state-machine',
    'keep-alive',
    'caller-frames',
    'portrait',
    'health',
    'warnings',
    'abort-listeners',
    'scope',
    'provider-parts',
    'observer',
    'observation',
    'diagnostics',
  ],
];
const DEPENDENCIES: readonly string[] = ['croner', 'eventemitter3'];
/**
 * The command line is a program: it makes the client itself. The build puts the driver and commander into it,
 * and `doctor` says which version of the driver.
 */
const OF_COMMAND_LINE: readonly string[] = [
  'commander',
  'mongodb',
  'mongodb/package.json',
  'import.meta.url',
];
/** The entry for OpenTelemetry works with the application's own copy of its API. */
const OF_OPENTELEMETRY: readonly string[] = ['@opentelemetry/api'];
const OF_LAYERS: Readonly<Record<string, readonly string[]>> = {
  cli: OF_COMMAND_LINE,
  opentelemetry: OF_OPENTELEMETRY,
};
const CONSTANTS = 'protocol/lock-document.ts';
/** The only file of a lower layer that the command line imports: it says what an error of the store means. */
const OF_ERRORS = 'store/outcome.ts';

const layerOf = (path: string): string => path.replace(/\.ts$/, '').split('/')[0] ?? path;

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  const [importer, imported] = [layerOf(from), layerOf(to)];
  if (importer === imported || EVERYWHERE.includes(imported)) return true;
  if (EVERYWHERE.includes(importer)) return imported === 'protocol' && (isTypeOnly || to === CONSTANTS);
  if (importer === 'cli' && to === OF_ERRORS) return true;
  return LAYERS[importer]?.includes(imported) ?? false;
}

describe('src', () => {
  it('consists of the layers that the rule for imports knows', () => {
    expect(files.length).toBeGreaterThan(20);
    const layers = new Set(files.map(({ path }) => layerOf(path)));
    const unknown = [...layers].filter((layer) => !(layer in LAYERS) && !EVERYWHERE.includes(layer));
    expect(unknown).toEqual([]);
  });

  it('imports only downwards: index → provider → engine → admin, schedule → election → primitives → lease → store → protocol; fencing → lease', () => {
    const own = imports.filter(({ to }) => isOwn(to));
    expect(own.length).toBeGreaterThan(50);
    expect(own.filter((each) => !isAllowed(each)).map(inWords)).toEqual([]);
  });

  it('has no circle of imports, between files or between folders, types included', () => {
    const own = imports.filter(({ to }) => isOwn(to));
    expect(circlesOf(own.map(({ from, to }) => [from, to]))).toEqual([]);
    const folders = own.map(({ from, to }): readonly [string, string] => [dirname(from), dirname(to)]);
    const isRoot = (folder: string): boolean => folder === '.';
    const between = folders.filter(([from, to]) => from !== to && !isRoot(from) && !isRoot(to));
    expect(circlesOf(between)).toEqual([]);
  });

  it('imports only files that exist', () => {
    const paths = new Set(files.map(({ path }) => path));
    const missing = imports.filter(({ to }) => isOwn(to) && !paths.has(to));
    expect(missing.map(inWords)).toEqual([]);
  });

  it('imports only types of the driver, so that it runs with any copy that the application has; only the command line loads it', () => {
    const driver = imports.filter(({ to }) => /^(mongodb|bson)(\/|$)/.test(to));
    expect(driver.length).toBeGreaterThan(0);
    const atRunTime = driver.filter(({ isTypeOnly }) => !isTypeOnly).map(inWords);
    expect(atRunTime).toEqual(['cli/connection.ts → mongodb', 'cli/doctor-checks.ts → mongodb/package.json']);
  });

  it('imports no package at run time except Node’s own and its two dependencies; the command line has its parser and the driver, and leasehold/opentelemetry its API', () => {
    const packages = imports.filter(({ to, isTypeOnly }) => !isOwn(to) && !isTypeOnly);
    const isKnown = ({ from, to }: Import): boolean =>
      to.startsWith('node:') || (OF_LAYERS[layerOf(from)] ?? DEPENDENCIES).includes(to);
    const others = packages.filter((each) => !isKnown(each));
    expect(others.map(inWords)).toEqual([]);
  });

  it('exports by name only', () => {
    expect(imports.filter(({ exportsAll }) => exportsAll).map(inWords)).toEqual([]);
    const index = files.find(({ path }) => path === 'index.ts');
    expect(index?.text).not.toMatch(/export\s*\*/);
  });

  it(`has no file of more than ${MAX_LINES} lines`, () => {
    const long = files.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }));
    expect(long.filter(({ lines }) => lines > MAX_LINES)).toEqual([]);
  });
});
