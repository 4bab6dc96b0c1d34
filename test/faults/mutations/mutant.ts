import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { buildProgram } from '../../../lab/processes/program.js';
import type { BuiltProgram } from '../../../lab/processes/program.js';
import { WORKER } from '../workload/crew.js';
import type { Edit, Mutation } from './mutation.js';
import { GROUP_MUTATIONS } from './group-mutations.js';
import { PROCESS_MUTATIONS } from './process-mutations.js';
import { PROTOCOL_MUTATIONS } from './protocol-mutations.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Inside the project, so that imports are found. */
const MUTANTS = join(ROOT, '.cache/mutants');

export const MUTATIONS: readonly Mutation[] = [
  ...PROTOCOL_MUTATIONS,
  ...PROCESS_MUTATIONS,
  ...GROUP_MUTATIONS,
];

/** Applies an edit. Its text must occur once, so that the list stays up to date. */
export function edited(text: string, { file, find, replace }: Edit): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`src/${file} must have this once: ${find}`);
  }
  return `${before}${replace}${after}`;
}

export const sourceOf = (file: string): string => join(ROOT, 'src', file);

/** The worker, built with the bug in it. The checkers are not copied, and have no bug. */
export async function buildMutant({ name, edits }: Mutation): Promise<BuiltProgram> {
  const folder = join(MUTANTS, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  try {
    for (const part of ['src', 'lab', 'test/faults']) {
      await cp(join(ROOT, part), join(folder, part), { recursive: true });
    }
    for (const edit of edits) {
      const path = join(folder, 'src', edit.file);
      await writeFile(path, edited(await readFile(path, 'utf8'), edit));
    }
    const worker = fileURLToPath(WORKER).slice(ROOT.length);
    return await buildProgram(pathToFileURL(join(folder, worker)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
