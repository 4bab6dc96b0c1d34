import {
  enteringTogether,
  haveSameTerms,
  vacantDocument,
} from '../../protocol/pipeline/entering-together.js';
import type { NamedEntering } from '../../protocol/pipeline/entering-together.js';
import { leaving } from '../../protocol/pipeline/fast-path.js';
import type { Entering, FastPath, Leaving } from '../../protocol/pipeline/fast-path.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { NamedUpdate } from '../lock-collection.js';

interface Part {
  readonly name: string;
  readonly path: FastPath;
}

interface Leaves {
  readonly rules: KindRules;
  readonly names: string[];
  readonly ids: string[];
}

interface Entries {
  readonly rules: KindRules;
  readonly requests: [NamedEntering, ...NamedEntering[]];
  /** The requests whose locks may have no document. */
  readonly unseen: NamedEntering[];
  readonly parts: [Part, ...Part[]];
}

/**
 * The updates of a group. All leaves for one kind of lock are one update. All requests for one kind of lock are one
 * update if they ask for the same (`haveSameTerms`). If several requests share an update, further updates right before
 * it create those of their documents that may be missing. Leaves come first: until a leave is applied, its seat is
 * taken although nobody uses it.
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
    const { rules, operation } = part.path;
    if (operation.type === 'leave') addLeave(leaves, part.name, rules, operation);
    else addEntry(entries, part, rules, operation);
  }
  return [...leaves.map(updateOfLeaves), ...entries.flatMap(updatesOfEntries)];
}

const updateOf = ({ name, path: { pipeline, upsert } }: Part): NamedUpdate => ({
  ...{ names: [name], update: pipeline, upsert },
});

function addLeave(leaves: Leaves[], name: string, rules: KindRules, { id }: Leaving): void {
  const alike = leaves.find((other) => other.rules === rules);
  if (alike === undefined) leaves.push({ rules, names: [name], ids: [id] });
  else {
    alike.names.push(name);
    alike.ids.push(id);
  }
}

const updateOfLeaves = ({ rules, names, ids }: Leaves): NamedUpdate => ({
  ...{ names, update: leaving(rules, ids), upsert: false },
});

function addEntry(entries: Entries[], part: Part, rules: KindRules, operation: Entering): void {
  const named = { name: part.name, operation };
  const unseen = part.path.upsert ? [named] : [];
  const alike = entries.find(
    (other) => other.rules === rules && haveSameTerms(other.requests[0].operation.request, operation.request),
  );
  if (alike === undefined) entries.push({ rules, requests: [named], unseen, parts: [part] });
  else {
    alike.requests.push(named);
    alike.unseen.push(...unseen);
    alike.parts.push(part);
  }
}

function updatesOfEntries({
  rules,
  requests,
  unseen,
  parts: [part, ...others],
}: Entries): readonly NamedUpdate[] {
  if (others.length === 0) return [updateOf(part)];
  const creations = unseen.map(({ name, operation }) => ({
    ...{ names: [name], update: { $setOnInsert: vacantDocument(rules, operation) }, upsert: true },
  }));
  const names = requests.map(({ name }) => name);
  return [...creations, { names, update: enteringTogether(rules, requests), upsert: false }];
}
