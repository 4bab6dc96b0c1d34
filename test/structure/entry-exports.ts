import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const sourceFolder: string = fileURLToPath(new URL('../../src', import.meta.url));

/** A name that an entry exports, and the file of src that declares it. */
export interface Exported {
  readonly name: string;
  readonly from: string;
}

/** The names that an entry exports, by its path in src. */
export function exportsOf(entry: string): readonly Exported[] {
  const source = ts.createSourceFile(
    entry,
    readFileSync(join(sourceFolder, entry), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  return source.statements.filter(ts.isExportDeclaration).flatMap((statement) => {
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const from = join(entry, '..', moduleSpecifier.text).replace(/\.js$/, '.ts');
    return exportClause.elements.map(({ name }) => ({ name: name.text, from }));
  });
}
