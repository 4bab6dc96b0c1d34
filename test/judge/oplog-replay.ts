import { BSON } from 'mongodb';
import type { Collection, Document, FindOptions, MongoClient, Timestamp } from 'mongodb';

import { eventually } from '../../lab/patience.js';
import { LaterWalls } from './later-walls.js';
import type { Change, OplogEntry } from './oplog-entry.js';
import { ReplayedCollections, nameOf } from './replayed-collections.js';

/** Which part of the oplog is replayed. */
export interface Oplog {
  /** Connected directly to one member, in a healed set: what was rolled back is not in its oplog any more. */
  readonly client: MongoClient;
  /** `database.collection` of the lock documents. */
  readonly namespace: string;
  /** From before the first document of the collection. */
  readonly from: Timestamp;
  /** Names whose documents are tampered with on purpose: not reported, and not compared at the end. */
  readonly leaveOut?: ((name: string) => boolean) | undefined;
}

/** Longs, doubles and ints stay what they are, so that a document is stored again as it was. */
const AS_STORED: FindOptions = { promoteValues: false, promoteLongs: false };

const oplogOf = (client: MongoClient): Collection<OplogEntry> =>
  client.db('local').collection<OplogEntry>('oplog.rs', { readPreference: 'secondaryPreferred' });

/** The time of this member's newest entry. */
export async function oplogEnd(client: MongoClient): Promise<Timestamp> {
  const newest = await oplogOf(client).findOne({}, { sort: { $natural: -1 } });
  if (newest === null) throw new Error('the oplog is empty');
  return newest.ts;
}

/**
 * Reports every version of every lock document in the order in which the set agreed on them. Once the collection is
 * quiet, the replayed documents must be the stored ones: otherwise the replay is wrong, and throws.
 */
export async function replay(oplog: Oplog, onChange: (change: Change) => void): Promise<void> {
  const { client, namespace, leaveOut = () => false } = oplog;
  const entries = oplogOf(client);
  const oldest = await entries.findOne({}, { sort: { $natural: 1 } });
  if (oldest?.ts.greaterThan(oplog.from) ?? true) throw new Error('the oplog does not reach back that far');
  const renames = entries.find({ ts: { $gt: oplog.from }, op: 'c', 'o.renameCollection': { $exists: true } });
  const walls = new LaterWalls(onChange);
  const replayed = new ReplayedCollections(namespace, await renames.map(({ o }) => o).toArray(), (change) => {
    if (!leaveOut(change.name)) walls.take(change);
  });
  let last = oplog.from;
  const readOn = async (): Promise<boolean> => {
    const filter = { ts: { $gt: last }, ns: { $in: replayed.namespaces }, op: { $ne: 'n' } };
    let isNew = false;
    for await (const entry of entries.find(filter, { ...AS_STORED, batchSize: 10_000 })) {
      walls.entry(Number(entry.t), entry.wall.getTime());
      replayed.apply(entry);
      last = entry.ts;
      isNew = true;
    }
    return isNew;
  };
  await readOn();
  await comesToRest(oplog, readOn, replayed);
  walls.end();
}

async function comesToRest(
  { client, namespace, leaveOut = () => false }: Oplog,
  readOn: () => Promise<boolean>,
  replayed: ReplayedCollections,
): Promise<void> {
  let difference: string | undefined = 'it was never quiet';
  const kept = (name: string): boolean => !leaveOut(name);
  await eventually('quiet', async () => {
    // Entries of a secondary can be seen a moment before they are applied.
    difference = differenceOf(replayed.documents, await storedIn(client, namespace), kept);
    return !(await readOn()) && difference === undefined;
  }).catch((cause: unknown) => {
    const why = `the replay of ${namespace} is wrong, or its end is not quiet: ${difference ?? ''}`;
    throw new Error(why, { cause });
  });
}

async function storedIn(client: MongoClient, namespace: string): Promise<ReadonlyMap<string, Document>> {
  const dot = namespace.indexOf('.');
  const collection = client.db(namespace.slice(0, dot)).collection(namespace.slice(dot + 1));
  const documents = collection.find({}, { ...AS_STORED, readPreference: 'secondaryPreferred' });
  return new Map(await documents.map((document) => [nameOf(document), document] as const).toArray());
}

/** Byte by byte: also in the types of values, and in the order of fields. */
function differenceOf(
  replayed: ReadonlyMap<string, Document>,
  stored: ReadonlyMap<string, Document>,
  kept: (name: string) => boolean,
): string | undefined {
  for (const name of new Set([...replayed.keys(), ...stored.keys()])) {
    if (!kept(name)) continue;
    const [one, other] = [replayed.get(name), stored.get(name)];
    const isSame =
      one !== undefined &&
      other !== undefined &&
      Buffer.compare(BSON.serialize(one), BSON.serialize(other)) === 0;
    if (!isSame) return `${name}: ${shown(one)} instead of ${shown(other)}`;
  }
  return undefined;
}

const shown = (document: Document | undefined): string =>
  document === undefined ? 'nothing' : BSON.EJSON.stringify(document, { relaxed: false });
