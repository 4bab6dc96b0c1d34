/**
 * All keys of an options interface, or of every variant of a union. A value that lacks a key does not compile, so an
 * option that is added later cannot be refused by mistake.
 */
export type KeysOf<T> = Readonly<Record<T extends unknown ? keyof T : never, true>>;

/**
 * Refuses unknown keys of an options object, because a misspelt option would silently leave the default in place. An
 * unknown key is refused even if its value is `undefined`: otherwise a misspelt key would pass until code sets its
 * value. Only own enumerable string keys count, so the methods of a class are not refused.
 */
export function refuseUnknownKeys(options: object, of: string, known: Readonly<Record<string, true>>): void {
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(known, key)) throw unknownOption(key, of, Object.keys(known));
  }
}

/**
 * For options that are passed on to the driver: refuses an unknown key that is similar to a known one. Any other
 * unknown key is accepted, because it may be an option of another version of the driver.
 */
export function refuseMisspeltKeys(options: object, of: string, known: Readonly<Record<string, true>>): void {
  const names = Object.keys(known);
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(known, key) && nearest(key, names) !== undefined) throw unknownOption(key, of, names);
  }
}

const MAX_SHOWN = 80;

function unknownOption(key: string, of: string, known: readonly string[]): TypeError {
  const shown = key.slice(0, MAX_SHOWN);
  const meant = nearest(key, known);
  const hint =
    meant === undefined ? `it takes ${known.join(', ')}` : `did you mean ${JSON.stringify(meant)}?`;
  return new TypeError(`unknown option ${JSON.stringify(shown)} of ${of}; ${hint}`);
}

/** The known key that the caller probably meant, or `undefined` if no known key is similar. */
function nearest(given: string, known: readonly string[]): string | undefined {
  const key = given.slice(0, MAX_SHOWN).toLowerCase();
  const [best] = known
    .map((candidate) => ({ candidate, edits: similarity(key, candidate.toLowerCase()) }))
    .filter(({ edits }) => edits < Infinity)
    .sort((a, b) => a.edits - b.edits);
  return best?.candidate;
}

/** Two keys that begin with this many equal letters are similar, however they end. */
const SAME_BEGINNING = 4;

/** The number of edits between two keys, or `Infinity` if they are not similar. */
function similarity(a: string, b: string): number {
  const edits = editsBetween(a, b);
  const isSlip = edits <= Math.ceil(Math.min(a.length, b.length) / 3);
  const begins = b.length >= SAME_BEGINNING && a.startsWith(b.slice(0, SAME_BEGINNING));
  return isSlip || begins ? edits : Infinity;
}

/** The Levenshtein distance: the fewest insertions, deletions and replacements of a letter that turn `a` into `b`. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const [above = 0, left = 0, diagonal = 0] = [row[j + 1], next[j], row[j]];
      next.push(Math.min(above + 1, left + 1, diagonal + (a[i] === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
