/**
 * The longest part of a list of places that rises, as places: these rows stay where they are, and only the others move.
 * If the first row of a hundred becomes the last, one row moves and not ninety-nine.
 */
export function staying(places: readonly number[]): ReadonlySet<number> {
  /** For each length, the index of the smallest place at which a rising part of that length ends. */
  const ends: number[] = [];
  const before: number[] = [];
  for (const [index, place] of places.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[ends[middle] ?? 0] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    before[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  }
  const found = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index] ?? -1) found.add(places[index] ?? 0);
  return found;
}
