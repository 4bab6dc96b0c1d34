import {
  enteringTogether,
  haveSameTerms,
  vacantDocument,
} from '../../protocol/pipeline/entering-together.js';
import type { NamedEntering } from '../../protocol/pipeline/entering-together.js';
import { leaving } from '../../protocol/pipeline/fast-path.js';
import type { Entering, FastPath, Leaving } from '../../protocol/pipeline/fast-path.js';
import type { SeatRules } from '../../protocol/seats.js';
import type { NamedUpdate } from '../lock-collection.js';

interface Part {
  readonly name: string;
  readonly path: FastPath;
}

interface Leaves {
  readonly seats: SeatRules;
  readonly names: string[];
  readonly ids: string[];
}

interface Entries {
  readonly seats: SeatRules;
  readonly requests: [NamedEntering, ...NamedEntering[]];
  /** The requests whose locks may have no document. */
  readonly unseen: NamedEntering[];
  readonly parts: [Part, ...Part[]];
}

/**
 * The updates of a group. All leaves for one kind of lock are one update. All requests for one kind of lock are one
 * update if they ask for the same (`haveSameTerms`). If several requests share an update, further updates right before
 * it create those of their documents that may be missing. Leaves come first, because they make seats free.
 *
 * @param isSharded - Whether the collection is behind a router. A router sends an update of several names to several
 *   shards. More than one shard may have a document of one name, and the count in the reply is then too high. So behind
 *   a router, each statement is an update of its own.
 */
export function updatesOf(group: readonly Part[], isSharded: boolean): readonly NamedUpdate[] {
  if (isSharded) return group.map(updateOf);
  const leaves: Leaves[] = [];
  const entries: Entries[] = [];
  for (const part of group) {
    const { seats, operation } = part.path;
    if (operation.type === 'leave') addLeave(leaves, part.name, seats, operation);
    else addEntry(entries, part, seats, operation);
  }
  return [...leaves.map(updateOfLeaves), ...entries.flatMap(updatesOfEntries)];
}

const updateOf = ({ name, path: { pipeline, upsert } }: Part): NamedUpdate => ({
  ...{ names: [name], update: pipeline, upsert },
});

function addLeave(leaves: Leaves[], name: string, seats: SeatRules, { id }: Leaving): void {
  const alike = leaves.find((other) => other.seats === seats);
  if (alike === undefined) leaves.push({ seats, names: [name], ids: [id] });
  else {
    alike.names.push(name);
    alike.ids.push(id);
  }
}

const updateOfLeaves = ({ seats, names, ids }: Leaves): NamedUpdate => ({
  ...{ names, update: leaving(seats, ids), upsert: false },
});

function addEntry(entries: Entries[], part: Part, seats: SeatRules, operation: Entering): void {
  const named = { name: part.name, operation };
  const unseen = part.path.upsert ? [named] : [];
  const alike = entries.find(
    (other) => other.seats === seats && haveSameTerms(other.requests[0].operation.request, operation.request),
  );
  if (alike === undefined) entries.push({ seats, requests: [named], unseen, parts: [part] });
  else {
    alike.requests.push(named);
    alike.unseen.push(...unseen);
    alike.parts.push(part);
  }
}

function updatesOfEntries({
  seats,
  requests,
  unseen,
  parts: [part, ...others],
}: Entries): readonly NamedUpdate[] {
  if (others.length === 0) return [updateOf(part)];
  const creations = unseen.map(({ name, operation }) => ({
    ...{ names: [name], update: { $setOnInsert: vacantDocument(seats, operation) }, upsert: true },
  }));
  const names = requests.map(({ name }) => name);
  return [...creations, { names, update: enteringTogether(seats, requests), upsert: false }];
}
