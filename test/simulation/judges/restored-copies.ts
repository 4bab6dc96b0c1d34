import type { RunLine } from '../../faults/history.js';
import type { IsBeyondBounds } from '../../judge/belief-checker.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { WhenOf } from './server-time.js';

/** Documents of a replica set vanish under their holders in such a run. */
const VANISH: readonly string[] = ['lock documents are lost', 'an old copy is restored'];

export const mayVanishIn = (run: readonly RunLine[], set: number): boolean =>
  run.some((line) => 'what' in line && line.set === set && VANISH.includes(line.what));

/**
 * The changes that put an old copy of a document where there was none. Every update of the library writes a new word or a
 * new time, so no document that it makes is equal to one that was there before.
 */
export function restoredIn(collections: readonly (readonly Change[])[]): ReadonlySet<Change> {
  const restored = new Set<Change>();
  for (const changes of collections) {
    const known = new Set<string>();
    for (const change of changes) {
      if (change.after === null) continue;
      const text = JSON.stringify(change.after);
      if (change.before === null && known.has(text)) restored.add(change);
      known.add(text);
    }
  }
  return restored;
}

/**
 * A holder of a document that is gone finds that out at its next extension, and counts on it for one lease at most. So
 * long, another process may be at work, too. This judges each lock by what happened to its own document.
 */
export function beyondRestores(
  changes: readonly Change[],
  restored: ReadonlySet<Change>,
  when: WhenOf,
  leaseMs: number,
): IsBeyondBounds {
  const spans = new Map<string, { readonly fromNs: number; readonly untilNs: number }[]>();
  for (const change of changes) {
    if (change.after !== null && !restored.has(change)) continue;
    const { earliestMs, latestMs } = when(change.wallMs);
    const span = { fromNs: earliestMs * 1e6, untilNs: (latestMs + leaseMs) * 1e6 };
    spans.set(change.name, [...(spans.get(change.name) ?? []), span]);
  }
  return (lock, atNs) =>
    (spans.get(lock) ?? []).some(({ fromNs, untilNs }) => fromNs <= Number(atNs) && Number(atNs) <= untilNs);
}
