import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';
import ts from 'typescript';

import { ROOT } from '../../lab/processes/program.js';

export interface Import {
  /** The importing file, and what it imports: a path like that of the file, or the name of a package. */
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
  readonly exportsAll: boolean;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

function read(base: string, path: string): SourceFile {
  const text = readFileSync(join(ROOT, base, path), 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean, exportsAll = false): void => {
    if (specifier === undefined) return;
    // What only running the file tells is named by its expression.
    const name = ts.isStringLiteralLike(specifier) ? specifier.text : specifier.getText();
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

/** The files in these folders of the base folder. Their paths begin in the base folder, which is in the project. */
export function sourceFiles(base: string, folders: readonly string[] = ['.']): readonly SourceFile[] {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(ROOT, base, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      posix.join(folder, path.split(sep).join('/')),
    ),
  );
  return paths
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules/'))
    .map((path) => read(base, path));
}

export const isOwn = (path: string): boolean => path.endsWith('.ts');

export const inWords = ({ from, to }: Import): string => `${from} → ${to}`;

/** The circles that a walk along the arrows finds first, each as its members in order. */
export function circlesOf(arrows: readonly (readonly [string, string])[]): readonly string[] {
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
