// One rule for the page and for the command line, which shows the same texts on a terminal.

/**
 * Characters that could change or hide what a text says: control characters, with which escape sequences begin;
 * invisible characters, for example those that reverse the direction of the text; lone surrogates; separators of lines
 * and paragraphs; every blank that is no space, and the spaces at both ends, which nobody sees. Names and labels come
 * from any process that may write to the collection.
 */
const HOSTILE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=^ *) | (?= *$)/gu;

export const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

export const hostileIn = (text: string): Iterable<RegExpExecArray> => text.matchAll(HOSTILE);

/** Returns the text with the result of `escape` in place of every hostile character. */
export const withEscapes = (text: string, escape: (character: string) => string): string =>
  text.replaceAll(HOSTILE, escape);

export const plain = (text: string): string => withEscapes(text, escaped);
