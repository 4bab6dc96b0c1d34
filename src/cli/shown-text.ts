/**
 * Characters that could change what a terminal shows: control characters, with which escape sequences begin; format
 * characters, such as those that reverse the direction of a text; lone surrogates; separators of lines and paragraphs.
 * Names and labels come from any process that may write to the collection.
 */
const HOSTILE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with every hostile character as an escape, so that it stays in one line and shows what is stored. */
export const shownText = (text: string): string =>
  text.replaceAll(HOSTILE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** JSON in one line, which a terminal shows as it is. A parser of JSON reads the same value from it. */
export const shownJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(HOSTILE, (character) =>
    Array.from({ length: character.length }, (_, at) => jsonEscape(character.charCodeAt(at))).join(''),
  );

const jsonEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
