import { Long } from 'mongodb';
import type { Db } from 'mongodb';

/** Kills these cursors of a collection, as `$currentOp` shows their ids. Returns how many of them the server found. */
export async function killCursors(db: Db, collection: string, ids: readonly unknown[]): Promise<number> {
  if (ids.length === 0) return 0;
  // The driver reads a cursor id that happens to be small as a number, and would write it back as a double.
  const cursors = ids.map((id) => Long.fromString(String(id)));
  const { cursorsKilled } = await db.command({ killCursors: collection, cursors });
  return (cursorsKilled as readonly unknown[]).length;
}
