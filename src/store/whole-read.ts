import type { Document } from 'mongodb';
import type { Outcome } from './outcome.js';

/**
 * Reads the named documents, however large they are. The server silently cuts an answer at 16 MB, so this function asks
 * again for the documents that an answer lacks. If a read of only those documents shows none, they count as missing.
 */
export async function readWhole(
  names: readonly string[],
  read: (names: readonly string[]) => Promise<Outcome<readonly Document[]>>,
): Promise<Outcome<readonly Document[]>> {
  const first = await read(names);
  if (first.type !== 'done') return first;
  const documents = [...first.value];
  let shown = first.value;
  let unseen = names;
  for (;;) {
    const seen = new Set(shown.map(({ _id }) => String(_id)));
    unseen = unseen.filter((name) => !seen.has(name));
    if (shown.length === 0 || unseen.length === 0) return { ...first, value: documents };
    const next = await read(unseen);
    if (next.type !== 'done') return next;
    documents.push(...next.value);
    shown = next.value;
  }
}
