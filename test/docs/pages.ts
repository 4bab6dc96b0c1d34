import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { anchorOf } from '../../docs/.vitepress/markdown.js';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** One page of the documentation in the repository. */
export interface Page {
  /** From the root, with slashes: `docs/mutex.md`. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block of code. */
export interface CodeBlock {
  readonly page: Page;
  /** The line of its first line of code, counted from 1. */
  readonly line: number;
  readonly language: string;
  /** What the fence says after the language: how the block is checked, if not by the rule. See `code-rules.ts`. */
  readonly info: string;
  readonly code: string;
  /** The text of the HTML comment right before it; empty if there is none. */
  readonly mark: string;
}

/** The pages in the root, and all pages below docs except the generated reference. */
export const pages: readonly Page[] = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...pagesBelow('docs'),
].map(readPage);

export const page = (path: string): Page => pages.find((each) => each.path === path) ?? readPage(path);

function pagesBelow(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.md'))
    .map((file) => relative(root, join(file.parentPath, file.name)).split(sep).join(posix.sep))
    .filter((path) => !path.startsWith('docs/api/'))
    .sort();
}

function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

const BLOCK =
  /(?:<!-- (?<mark>[^\n]*) -->\n+)?^(?<fence> *```)(?<language>\w*)(?: (?<info>[^\n]*))?\n(?<code>[\s\S]*?)^ *```$/gm;

/** Every fenced block of a page, in its order. */
export const allBlocks = (from: Page): readonly CodeBlock[] =>
  [...from.text.matchAll(BLOCK)].map((found) => {
    const { mark = '', language = '', info = '', code = '' } = found.groups ?? {};
    const line = from.text.slice(0, found.index + found[0].indexOf('```')).split('\n').length + 1;
    return { page: from, line, language, info, code, mark };
  });

export const codeBlocks = (from: Page, language: string): readonly CodeBlock[] =>
  allBlocks(from).filter((block) => block.language === language);

export function markedBlock(path: string, mark: string): CodeBlock {
  const found = codeBlocks(page(path), 'js').find((block) => block.mark === mark);
  if (found === undefined) throw new Error(`${path} has no block marked ${mark}`);
  return found;
}

/** The text without its code, in which `[x](y)` would be no link. */
export const prose = ({ text }: Page): string =>
  text.replaceAll(BLOCK, (block) => block.replaceAll(/[^\n]/g, ' ')).replaceAll(/`[^`\n]*`/g, '');

export interface Link {
  readonly text: string;
  readonly target: string;
}

export const links = (from: Page): readonly Link[] =>
  [...prose(from).matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, text = '', target = '']) => ({
    text,
    target,
  }));

/** The file that a relative link points to, from the root, and the heading in it. */
export function resolveLink(from: Page, target: string): { readonly path: string; readonly heading: string } {
  const [file = '', heading = ''] = target.split('#');
  const path = file === '' ? from.path : posix.join(dirname(from.path), file);
  return { path, heading };
}

/** The anchors of a page's headings, as GitHub makes them. */
export const anchors = (of: Page): readonly string[] =>
  [...of.text.replaceAll(BLOCK, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** The first cells of the table below this heading, without their backticks. */
export function firstCells(of: Page, heading: string): readonly string[] {
  const [, below = ''] = of.text.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [section = ''] = below.split(/^#+ /m);
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) => row.split('|')[1]?.replaceAll('`', '').trim() ?? '');
}
