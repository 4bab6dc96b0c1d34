/** East Asian characters and emoji, which take two columns of a terminal. A close guess: terminals differ. */
const WIDE =
  /^(?![\0-\u10ff\uff61-\uffdc])[\p{Emoji_Presentation}\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\u3000\uff01-\uffe6]/u;

/** Marks, which stand over or beside the character before them. */
const MARK = /^[\p{Mn}\p{Me}]/u;

const columnOf = (character: string): number => (MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** How many columns of a terminal the text takes. */
export const columnsOf = (text: string): number =>
  /^[ -~]*$/.test(text) ? text.length : Array.from(text).reduce((sum, each) => sum + columnOf(each), 0);

/** The longest beginning of the text that takes no more than so many columns. */
export function beginningOf(text: string, columns: number): string {
  let [end, left] = [0, columns];
  for (const character of text) {
    left -= columnOf(character);
    if (left < 0) return text.slice(0, end);
    end += character.length;
  }
  return text;
}
