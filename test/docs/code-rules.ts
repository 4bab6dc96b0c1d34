import { allBlocks, pages } from './pages.js';
import type { CodeBlock } from './pages.js';

const CODE: ReadonlySet<string> = new Set(
  ['ts', 'mts', 'cts', 'tsx', 'typescript'].concat(['js', 'mjs', 'cjs', 'jsx', 'javascript']),
);

/**
 * What a fence may say after its language, each with a reason or a path. Without any of these, the block is compiled, and
 * run too if a test runs its page. No page shows these words: GitHub and VitePress take the first word only.
 */
const RULES = ['not compiled', 'not run', 'quotes'] as const;
type Rule = (typeof RULES)[number];

/** Every block of TypeScript and JavaScript in all pages. */
export const allCode: readonly CodeBlock[] = pages
  .flatMap(allBlocks)
  .filter(({ language }) => CODE.has(language));

/** What follows this word in the fence, and `undefined` if the fence does not have it. */
export function ruleOf({ info }: CodeBlock, rule: Rule): string | undefined {
  const start = `${rule}: `;
  return info.startsWith(start) ? info.slice(start.length).trim() : undefined;
}

/** Whether the fence says nothing, or something that these tests know. */
export const isKnown = (block: CodeBlock): boolean =>
  block.info === '' || RULES.some((rule) => (ruleOf(block, rule) ?? '') !== '');

export const isCompiled = (block: CodeBlock): boolean =>
  ruleOf(block, 'not compiled') === undefined && ruleOf(block, 'quotes') === undefined;

export const isRun = (block: CodeBlock): boolean =>
  isCompiled(block) && ruleOf(block, 'not run') === undefined;

export const isJavaScript = ({ language }: CodeBlock): boolean => /js|javascript/.test(language);

/** These pages show code of other libraries too, whose types are not ours to check. */
export const isBesideOthers = ({ page }: CodeBlock): boolean =>
  /^docs\/(using-with|coming-from)\//.test(page.path);
