import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const sourceFolder = fileURLToPath(new URL('../../src', import.meta.url));
const MAX_LINES = 300;

interface Import {
  /** The importing file, and its import: a path below src, or the name of a package. */
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
  readonly exportsAll: boolean;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

function read(path: string): SourceFile {
  const text = readFileSync(join(sourceFolder, path), 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean, exportsAll = false): void => {
    if (specifier === undefined) return;
    if (!ts.isStringLiteralLike(specifier)) throw new Error(`${path} imports what only running it tells`);
    const { text: name } = specifier;
    const to = name.startsWith('.') ? posix.join(dirname(path), name).replace(/\.js$/, '.ts') : name;
    found.push({ from: path, to, isTypeOnly, exportsAll });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      const exportsAll = node.exportClause === undefined || ts.isNamespaceExport(node.exportClause);
      add(node.moduleSpecifier, node.isTypeOnly, exportsAll);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true);
    } else if (ts.isCallExpression(node) && isLoading(node.expression)) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { path, text, imports: found };
}

/** `import(…)`, `require(…)`, `createRequire(…)`. */
const isLoading = (callee: ts.Expression): boolean =>
  callee.kind === ts.SyntaxKind.ImportKeyword || ['require', 'createRequire'].includes(callee.getText());

const files: readonly SourceFile[] = readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => read(relative('.', path).split(sep).join('/')));

const imports = files.flatMap((file) => file.imports);

/** The layers that each layer may import, besides itself and the files that every layer may import. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  index: [
    'provider',
    'quorum',
    'fencing',
    'schedule',
    'election',
    'admin',
    'primitives',
    'lease',
    'store',
    'protocol',
  ],
  fencing: ['lease'],
  quorum: ['engine', 'primitives', 'lease', 'store', 'protocol'],
  provider: ['engine', 'schedule', 'election', 'admin', 'primitives', 'lease', 'store', 'protocol'],
  schedule: ['election', 'lease', 'store', 'protocol'],
  engine: ['election', 'admin', 'primitives', 'lease', 'store', 'protocol'],
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
    'events',
    'isolated-emitter',
    'clock',
    'backoff',
    'state-machine',
    'keep-alive',
    'caller-frames',
    'portrait',
    'warnings',
    'abort-listeners',
    'scope',
  ],
];
const DEPENDENCIES: readonly string[] = ['croner', 'eventemitter3'];
const CONSTANTS = 'protocol/lock-document.ts';

const layerOf = (path: string): string => path.replace(/\.ts$/, '').split('/')[0] ?? path;
const isOwn = (path: string): boolean => path.endsWith('.ts');

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  const [importer, imported] = [layerOf(from), layerOf(to)];
  if (importer === imported || EVERYWHERE.includes(imported)) return true;
  if (EVERYWHERE.includes(importer)) return imported === 'protocol' && (isTypeOnly || to === CONSTANTS);
  return LAYERS[importer]?.includes(imported) ?? false;
}

const inWords = ({ from, to }: Import): string => `${from} → ${to}`;

/** The circles that a walk along the imports finds first, each as its members in order. */
function circlesOf(arrows: readonly (readonly [string, string])[]): readonly string[] {
  const targets = new Map<string, Set<string>>();
  for (const [from, to] of arrows) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (at: string, way: readonly string[]): void => {
    const start = way.indexOf(at);
    if (start >= 0) circles.push([...way.slice(start), at].join(' → '));
    if (start >= 0 || done.has(at)) return;
    for (const next of targets.get(at) ?? []) walk(next, [...way, at]);
    done.add(at);
  };
  for (const from of targets.keys()) walk(from, []);
  return circles;
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

  it('imports only types of the driver, so that it runs with any copy that the application has', () => {
    const driver = imports.filter(({ to }) => /^(mongodb|bson)(\/|$)/.test(to));
    expect(driver.length).toBeGreaterThan(0);
    expect(driver.filter(({ isTypeOnly }) => !isTypeOnly).map(inWords)).toEqual([]);
  });

  it('imports no package at run time except Node’s own and its two dependencies', () => {
    const packages = imports.filter(({ to, isTypeOnly }) => !isOwn(to) && !isTypeOnly);
    const others = packages.filter(({ to }) => !to.startsWith('node:') && !DEPENDENCIES.includes(to));
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
