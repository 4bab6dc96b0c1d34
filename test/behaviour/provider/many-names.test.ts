import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { Child } from '../../../lab/processes/child.js';
import { cacheFolder } from '../../../lab/processes/program.js';
import { useProgram } from '../../support/built-program.js';
import { ownDatabase } from '../../support/test-provider.js';
import { OTHER, WAYS } from './many-names-lines.js';
import type { ManyNamesLine, ManyNamesOrder, ManyNamesTask } from './many-names-lines.js';

const program = useProgram(new URL('many-names-worker.ts', import.meta.url));

/** So many names are remembered by a provider, as a guess which locks nobody else uses. */
const REMEMBERED = 4_096;

/** Ten thousand uses take half a minute on two cores. This bound ends what hangs. */
const USE_BOUND_MS = 300_000;

/** All strings that are alive in the process. */
async function stringsOf(
  user: Child<ManyNamesOrder, ManyNamesLine>,
  path: string,
): Promise<readonly string[]> {
  await user.tell({ does: 'snapshot', path }, 'snapshot');
  return (JSON.parse(await readFile(path, 'utf8')) as { readonly strings: readonly string[] }).strings;
}

it.each(['change-stream', 'polling'] as const)(
  'a process keeps no name that it has used, in whatever way, but the last few thousand (%s)',
  async (wakeups) => {
    await using folder = await cacheFolder('heap');
    const { uri, name: database } = ownDatabase();
    const task: ManyNamesTask = { uri, database, wakeups, namesEach: 20 };
    await using user = new Child<ManyNamesOrder, ManyNamesLine>([
      ...['--expose-gc', program.path],
      JSON.stringify(task),
    ]);
    await user.tell({ does: 'use all' }, 'use all', USE_BOUND_MS);
    await user.tell({ does: 'use others', count: REMEMBERED + 1_000 }, 'use others', USE_BOUND_MS);
    const path = join(folder.path, 'process.heapsnapshot');
    const strings = await eventually('no name is left', async (see) => {
      const all = await stringsOf(user, path);
      const left = see(all.filter((text) => WAYS.some((way) => text.includes(`${way}#`))));
      return left.length === 0 ? all : undefined;
    });
    const others = strings.filter((text) => text.includes(OTHER) && text.includes('#'));
    expect(others.length).toBeLessThanOrEqual(2 * REMEMBERED);
  },
);
