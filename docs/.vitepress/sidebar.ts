import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { DefaultTheme } from 'vitepress';

export const docs = fileURLToPath(new URL('../', import.meta.url));

export interface Section {
  readonly text: string;
  /** Titles and pages, from docs/, in the order of the sidebar. */
  readonly pages: readonly (readonly [text: string, page: string])[];
  /** Whether the section is folded until one of its pages is open. */
  readonly isFolded?: boolean;
}

/** Every page below docs/, except the landing page and the generated reference. A test compares it with the files. */
export const SECTIONS: readonly Section[] = [
  {
    text: 'Start',
    pages: [
      ['Five minutes', 'start.md'],
      ['Programs to begin with', 'programs.md'],
      ['Installation', 'installation.md'],
      ['Beside other locks', 'comparison.md'],
    ],
  },
  {
    text: 'Guides',
    pages: [
      ['Mutex', 'mutex.md'],
      ['Reader-writer lock', 'reader-writer-lock.md'],
      ['Semaphore', 'semaphore.md'],
      ['Several locks', 'all-or-nothing.md'],
      ['Leader election', 'leader-election.md'],
      ['Scheduled jobs', 'scheduled-jobs.md'],
      ['Fencing', 'fencing.md'],
      ['Quorum', 'quorum.md'],
      ['Tests without a server', 'testing.md'],
    ],
  },
  {
    text: 'Operating',
    pages: [
      ['Operations', 'operations.md'],
      ['Telemetry', 'telemetry.md'],
      ['The command line', 'command-line.md'],
      ['The dashboard', 'dashboard.md'],
      ['Errors', 'errors.md'],
      ['What is supported', 'support.md'],
      ['Versions', 'versioning.md'],
    ],
  },
  {
    text: 'Using with',
    isFolded: true,
    pages: [
      ['Mongoose', 'using-with/mongoose.md'],
      ['NestJS', 'using-with/nestjs.md'],
      ['Express', 'using-with/express.md'],
      ['Next.js', 'using-with/nextjs.md'],
      ['Lambda', 'using-with/lambda.md'],
      ['node-cron', 'using-with/node-cron.md'],
      ['Jest and Vitest', 'using-with/jest-and-vitest.md'],
      ['TypeScript and CommonJS', 'using-with/typescript-and-commonjs.md'],
      ['Cloud services', 'using-with/cloud-services.md'],
    ],
  },
  {
    text: 'Coming from',
    isFolded: true,
    pages: [
      ['All names', 'coming-from/index.md'],
      ['redlock', 'coming-from/redlock.md'],
      ['redis-semaphore', 'coming-from/redis-semaphore.md'],
      ['node-cron', 'coming-from/node-cron.md'],
      ['Agenda', 'coming-from/agenda.md'],
      ['ShedLock', 'coming-from/shedlock.md'],
      ['DistributedLock', 'coming-from/distributedlock.md'],
    ],
  },
  { text: 'Troubleshooting', pages: [['By symptom', 'troubleshooting.md']] },
  {
    text: 'How it works',
    pages: [
      ['Guarantees', 'guarantees.md'],
      ['Protocol', 'protocol.md'],
      ['Faults', 'faults.md'],
      ['Simulation', 'simulation.md'],
      ['Museum of mended bugs', 'museum.md'],
      ['Performance', 'performance.md'],
      ['Architecture', 'architecture.md'],
    ],
  },
  { text: 'Words', pages: [['Glossary', 'glossary.md']] },
];

/** The sidebar of the reference: what scripts/reference.ts has written beside its pages. */
export function referenceSidebar(): DefaultTheme.SidebarItem[] {
  const file = join(docs, 'api/sidebar.json');
  if (!existsSync(file)) throw new Error('docs/api/sidebar.json is missing; npm run docs writes it');
  return JSON.parse(readFileSync(file, 'utf8')) as DefaultTheme.SidebarItem[];
}

function entry([text, page]: Section['pages'][number]): DefaultTheme.SidebarItem {
  if (!existsSync(join(docs, page))) throw new Error(`the sidebar has docs/${page}, which does not exist`);
  return { text, link: `/${page}` };
}

/** The pages of the reference have a sidebar of their own. A page without a file ends the build. */
export function sidebar(): DefaultTheme.SidebarMulti {
  const sections = SECTIONS.map(({ text, pages, isFolded }) => ({
    text,
    ...(isFolded === undefined ? {} : { collapsed: isFolded }),
    items: pages.map(entry),
  }));
  const reference = { text: 'Reference', items: [{ text: 'Every public name', link: '/api/' }] };
  return { '/': [...sections, reference], '/api/': referenceSidebar() };
}
