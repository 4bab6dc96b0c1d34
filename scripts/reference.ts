// Writes the API reference as Markdown into docs/api: a page for each public name, an index by subject, and the sidebar
// of these pages. typedoc.json has the options that do not depend on the form of the output.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Application, Comment, DeclarationReflection, ReflectionKind } from 'typedoc';
import type { PageDefinition, ProjectReflection, TypeDocOptions } from 'typedoc';
import { MemberRouter } from 'typedoc-plugin-markdown';

import { ENTRIES } from './entries.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const out = join(root, 'docs/api');

/** The subjects, in their order. A public name belongs to the longest of these paths that its file begins with. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  Provider: ['src/provider.ts'],
  Primitives: ['src/primitives/'],
  Handles: ['src/lease/', 'src/primitives/composite-handle.ts'],
  Options: ['src/options/'],
  'Elections and jobs': ['src/election/', 'src/schedule/', 'src/protocol/operation.ts'],
  Quorum: ['src/quorum/'],
  Fencing: ['src/fencing/'],
  Errors: [
    'src/errors.ts',
    'src/leasehold-error.ts',
    'src/fencing/stale-token-error.ts',
    'src/schedule/job-not-started.ts',
  ],
  Events: ['src/events.ts'],
  Inspection: ['src/admin/', 'src/protocol/'],
  'Test kit': ['src/testing/'],
  'Other libraries': ['src/node-cron/', 'src/opentelemetry/'],
  'Driver types': ['src/driver-types.ts'],
  More: ['src/'],
};

/** Names that `leasehold` exports only for programs of before `leasehold/quorum`. */
const OLD_NAMES = 'src/quorum/deprecated-exports.ts';

const fileOf = (name: DeclarationReflection): string => name.sources?.[0]?.fileName ?? '';

function subjectOf(name: DeclarationReflection): string {
  const file = fileOf(name);
  const fitting = Object.entries(SUBJECTS).flatMap(([subject, paths]) =>
    paths.filter((path) => file.startsWith(path)).map((path) => ({ subject, path })),
  );
  const [longest] = fitting.sort((a, b) => b.path.length - a.path.length);
  if (longest === undefined) throw new Error(`no subject for ${name.name} of ${file}`);
  return longest.subject;
}

/**
 * The page of a name, from docs/api, without its ending. Some file systems do not tell `RunCoordinator` from
 * `runCoordinator`, so a function has an ending of its own.
 */
function pageOf(name: DeclarationReflection): string {
  const folder = subjectOf(name).toLowerCase().replaceAll(' ', '-');
  return `${folder}/${name.name}${name.kindOf(ReflectionKind.Function) ? '-function' : ''}`;
}

/** `leasehold/quorum` for what `src/quorum/index.ts` exports. */
const entryOf = (name: DeclarationReflection): string =>
  (name.parent?.name ?? '').replace(/^src/, 'leasehold');

class SubjectRouter extends MemberRouter {
  override buildPages(project: ProjectReflection): PageDefinition[] {
    const isEntry = ({ model }: PageDefinition): boolean =>
      model instanceof DeclarationReflection && model.kindOf(ReflectionKind.Module);
    return super.buildPages(project).filter((page) => !isEntry(page));
  }

  override getIdealBaseName(reflection: DeclarationReflection): string {
    return reflection.kindOf(ReflectionKind.Module) ? reflection.name : pageOf(reflection);
  }
}

/** All names, each once: another entry that exports a name refers to it. */
const namesOf = (project: ProjectReflection): readonly DeclarationReflection[] =>
  (project.children ?? []).flatMap((entry) => (entry.children ?? []).filter((name) => !name.isReference()));

const bySubject = (
  names: readonly DeclarationReflection[],
): readonly (readonly [string, readonly DeclarationReflection[]])[] =>
  Object.keys(SUBJECTS)
    .map((subject) => [subject, names.filter((name) => subjectOf(name) === subject)] as const)
    .filter(([, found]) => found.length > 0);

/** The first sentence of what is written about a name. */
function summaryOf(name: DeclarationReflection): string {
  const comment = name.comment ?? name.signatures?.[0]?.comment;
  const text = Comment.combineDisplayParts(comment?.summary).replaceAll(/\{@link (\S+?)\}/g, '$1');
  return (
    /^[\s\S]*?[.:](?=\s|$)/
      .exec(text)?.[0]
      .replaceAll(/\s+/g, ' ')
      .replace(/:$/, '.')
      .replaceAll('|', '\\|') ?? ''
  );
}

async function writeIndex(names: readonly DeclarationReflection[]): Promise<void> {
  const rowOf = (name: DeclarationReflection): string => {
    const entry = entryOf(name) === 'leasehold' ? '' : ` From \`${entryOf(name)}\`.`;
    return `| [\`${name.name}\`](${pageOf(name)}.md) | ${summaryOf(name)}${entry} |`;
  };
  const sections = bySubject(names).map(([subject, found]) =>
    [`## ${subject}`, '', '| name | what it is |', '| --- | --- |', ...found.map(rowOf), ''].join('\n'),
  );
  const intro = 'Every public name, by subject. `leasehold` exports it, unless its line says otherwise.';
  await writeFile(join(out, 'index.md'), ['# Reference', '', intro, '', ...sections].join('\n'));
  const sidebar = bySubject(names).map(([subject, found]) => ({
    text: subject,
    collapsed: true,
    items: found.map((name) => ({ text: name.name, link: `/api/${pageOf(name)}` })),
  }));
  const overview = { text: 'Every public name', link: '/api/' };
  await writeFile(join(out, 'sidebar.json'), JSON.stringify([overview, ...sidebar], null, 2));
}

const options: Partial<TypeDocOptions> & Readonly<Record<string, unknown>> = {
  options: join(root, 'typedoc.json'),
  entryPoints: Object.values(ENTRIES),
  plugin: ['typedoc-plugin-markdown'],
  out,
  router: 'subject',
  readme: 'none',
  entryFileName: 'index.md',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideSources: true, hideInherited: true, hideOverrides: true },
};

export async function writeReference(): Promise<void> {
  const app = await Application.bootstrapWithPlugins(options);
  app.renderer.defineRouter('subject', SubjectRouter);
  const project = await app.convert();
  if (project === undefined) throw new Error('typedoc could not read the sources; its messages are above');
  for (const name of namesOf(project).filter((each) => fileOf(each) === OLD_NAMES))
    project.removeReflection(name);
  await app.generateOutputs(project);
  if (app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Error('typedoc has complained; its messages are above');
  await writeIndex(namesOf(project));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeReference();
