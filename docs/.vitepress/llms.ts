import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { SiteConfig } from 'vitepress';

import { siteTarget } from './markdown.js';
import { SECTIONS } from './sidebar.js';

/** The Markdown of a page, with its links to other files of the repository written out. */
async function textOf(srcDir: string, page: string): Promise<string> {
  const text = await readFile(join(srcDir, page), 'utf8');
  return text.replaceAll(/(?<=\]\()[^)\s]+(?=\))/g, (target) => siteTarget(page, target));
}

/** The first sentence below the title of a page, without its links; empty if the page begins with something else. */
const summaryOf = (text: string): string =>
  /^# .+\n+(?!```|\||-|<)([\s\S]+?\.)\s/
    .exec(text)?.[1]
    ?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ') ?? '';

/**
 * Writes what language models read (https://llmstxt.org): `llms.txt` lists the pages, `llms-full.txt` has the text of all
 * of them except the reference, and beside each page `name.html` there is its Markdown, `name.md`.
 */
export async function writeTextsForModels({ pages, srcDir, outDir, site }: SiteConfig): Promise<void> {
  const texts = new Map<string, string>();
  for (const page of pages) {
    const text = await textOf(srcDir, page);
    texts.set(page, text);
    await mkdir(dirname(join(outDir, page)), { recursive: true });
    await writeFile(join(outDir, page), text);
  }
  const list = SECTIONS.map(({ text: heading, pages: listed }) => {
    const lines = listed.map(([title, page]) => {
      const summary = summaryOf(texts.get(page) ?? '');
      return `- [${title}](${site.base}${page})${summary === '' ? '' : `: ${summary}`}`;
    });
    return [`## ${heading}`, '', ...lines, ''].join('\n');
  });
  const reference = `## Reference\n\n- [Every public name](${site.base}api/index.md)\n`;
  const head = `# ${site.title}\n\n> ${site.description}\n`;
  await writeFile(join(outDir, 'llms.txt'), [head, ...list, reference].join('\n'));
  const all = SECTIONS.flatMap((section) => section.pages.map(([, page]) => texts.get(page) ?? ''));
  await writeFile(join(outDir, 'llms-full.txt'), [head, ...all].join('\n'));
}
