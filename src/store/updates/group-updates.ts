import { leaving } from '../../protocol/pipeline/fast-path.js';
import type { FastPath } from '../../protocol/pipeline/fast-path.js';
import type { SeatRules } from '../../protocol/seats.js';
import type { NamedUpdate } from '../lock-collection.js';

interface Part {
  readonly name: string;
  readonly path: FastPath;
}

/**
 * The updates of a group: one for all leaves of a kind, and one for each other statement. Leaves come first, because
 * they make seats free.
 *
 * @param isSharded - Whether the collection is behind a router, which sends an update of several names to several
 *   shards. Each shard may count a document of the same name, so each leave is then an update of its own.
 */
export function updatesOf(group: readonly Part[], isSharded: boolean): readonly NamedUpdate[] {
  const leaves = new Map<SeatRules, { readonly names: string[]; readonly ids: string[] }>();
  const others: NamedUpdate[] = [];
  for (const { name, path } of group) {
    if (path.leave === undefined || isSharded) {
      others.push({ names: [name], pipeline: path.pipeline, upsert: path.upsert });
      continue;
    }
    const { seats, id } = path.leave;
    const { names, ids } = leaves.get(seats) ?? { names: [], ids: [] };
    leaves.set(seats, { names, ids });
    names.push(name);
    ids.push(id);
  }
  const together = [...leaves].map(([seats, { names, ids }]) => ({
    ...{ names, pipeline: leaving(seats, ids), upsert: false },
  }));
  return [...together, ...others];
}
