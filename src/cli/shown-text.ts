import { plain, withEscapes } from '../dashboard/hostile-characters.js';

/** The text with every hostile character as an escape, so that it stays in one line and shows what is stored. */
export const shownText: (text: string) => string = plain;

/** JSON in one line, which a terminal shows as it is. A parser of JSON reads the same value from it. */
export const shownJson = (value: unknown): string =>
  withEscapes(JSON.stringify(value), (character) =>
    Array.from({ length: character.length }, (_, at) => jsonEscape(character.charCodeAt(at))).join(''),
  );

const jsonEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
