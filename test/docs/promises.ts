import type { Breadth } from '../support/breadth.js';
import { isOfLongRun, isOfLongRunOnly } from '../support/files-of-run.js';
import { page, resolveLink } from './pages.js';

/** A test that docs/guarantees.md cites for a promise. */
export interface Citation {
  /** A test file, or the file of a suite that several test files run. */
  readonly file: string;
  /** A part of the title. */
  readonly title: string;
  /** Whether the page says that the test is only in the long run. */
  readonly isLong: boolean;
  readonly isForBothWaysOfWaiting: boolean;
}

export interface Promised {
  readonly name: string;
  readonly citations: readonly Citation[];
}

/** A test that has run and passed. */
export interface PassedTest {
  readonly file: string;
  /** The title of the test, with the titles of the suites above it. */
  readonly title: string;
}

export const guarantees = page('docs/guarantees.md');
export const museum = page('docs/museum.md');

/** The citations in the entries of lists. An entry links to one file, says when it runs, and quotes titles from it. */
export function citationsIn(text: string): readonly Citation[] {
  const entries = text
    .replaceAll(/\n {2,}/g, ' ')
    .matchAll(/^- \[[^\]]+\]\((\.\.\/test\/[^)]+)\)([^“\n]*)(.*)$/gm);
  return [...entries].flatMap(([, target = '', when = '', quoting = '']) => {
    const { path: file } = resolveLink(guarantees, target);
    const isLong = when.includes('long run');
    const isForBothWaysOfWaiting = when.includes('both ways of waiting');
    return [...quoting.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({
      ...{ file, title, isLong, isForBothWaysOfWaiting },
    }));
  });
}

export function sectionOf(text: string, heading: string): string {
  const [, below = ''] = text.split(new RegExp(`^## ${heading}$`, 'm'));
  return below.split(/^## /m)[0] ?? '';
}

export const promises: readonly Promised[] = sectionOf(guarantees.text, 'What is promised')
  .split(/^### /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n')[0] ?? '', citations: citationsIn(text) }));

/** Describes the citations that this run has to prove, and that none of these tests proves. */
export function notProved(
  citations: readonly Citation[],
  passed: readonly PassedTest[],
  breadth: Breadth,
): readonly string[] {
  return citations.flatMap(({ file, title, isLong, isForBothWaysOfWaiting }) => {
    const isSuite = !file.endsWith('.test.ts');
    if (breadth === 'quick' && (isLong || isOfLongRunOnly(file))) return [];
    if (breadth === 'long' && !isLong && !isSuite && !isOfLongRun(file)) return [];
    const found = passed.filter((test) => test.title.includes(title));
    const ofFile = isSuite ? found : found.filter((test) => test.file === file);
    if (ofFile.length === 0) return [`${file}: “${title}”`];
    const ways = isForBothWaysOfWaiting && breadth === 'long' ? ['change-stream', 'polling'] : [];
    return ways
      .filter((way) => !ofFile.some((test) => test.file.includes(`.${way}.`)))
      .map((way) => `${file}: “${title}”, by ${way}`);
  });
}
