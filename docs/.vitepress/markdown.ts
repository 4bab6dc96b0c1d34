import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { MarkdownOptions, MarkdownRenderer } from 'vitepress';

import { fileInRepository } from './repository.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

type Token = ReturnType<MarkdownRenderer['parse']>[number];

/** The anchor of a heading, as GitHub makes it, so that a link works in the repository and on the site. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/**
 * The target of a link on the site. A link to what is no page, for example to a test, leads to the repository. A link to
 * a file that does not exist ends the build.
 */
export function siteTarget(page: string, target: string): string {
  if (/^[a-z]+:|^[#/]/.test(target)) return target;
  const [file = '', heading] = target.split('#');
  const path = posix.join('docs', posix.dirname(page), file);
  if (path.startsWith('docs/') && path.endsWith('.md')) return target;
  if (!existsSync(join(root, path))) throw new Error(`docs/${page} links to ${path}, which does not exist`);
  return fileInRepository(path) + (heading === undefined ? '' : `#${heading}`);
}

function linkToRepository(md: MarkdownRenderer): void {
  md.core.ruler.push('links-to-repository', (state) => {
    const { relativePath: page = '' } = state.env as { readonly relativePath?: string };
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const target = token.type === 'link_open' ? token.attrGet('href') : null;
      if (target !== null) token.attrSet('href', siteTarget(page, target));
    }
  });
}

/** The text of the last heading before this token. */
function headingBefore(tokens: readonly Token[], index: number): string {
  const heading = tokens.slice(0, index).findLastIndex(({ type }) => type === 'heading_open');
  return tokens[heading + 1]?.content.replaceAll('`', '') ?? '';
}

function drawDiagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index];
    if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, ...rest) ?? '';
    const label = md.utils.escapeHtml(`Diagram: ${headingBefore(tokens, index)}`);
    return `<Diagram label="${label}" source="${encodeURIComponent(token.content)}" />\n`;
  };
}

export const markdown: MarkdownOptions = {
  anchor: { slugify: anchorOf },
  theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
  languageAlias: { mjs: 'js', cjs: 'js', mts: 'ts', cts: 'ts' },
  // GitHub knows neither, and the texts of the pages mean what they say.
  attrs: { disable: true },
  config: (md) => {
    md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
    md.disable('emoji', true);
    linkToRepository(md);
    drawDiagrams(md);
  },
};
