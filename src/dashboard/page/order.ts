/**
 * Returns the longest rising subsequence of the places. The rows at these places stay where they are, and only the
 * other rows move: if the first of a hundred rows becomes the last, one row moves and not ninety-nine.
 */
export function staying(places: readonly number[]): ReadonlySet<number> {
  /** At `n`: the index of the lowest place with which a rising subsequence of n + 1 places ends. */
  const ends: number[] = [];
  /** For each index, the index before it in the longest rising subsequence that ends there; -1 for none. */
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
