import type { MongoClient } from 'mongodb';

/** Counts the change streams that the server has open for clients of this name. */
export async function countStreams(
  { client }: { readonly client: MongoClient },
  appName: string,
): Promise<number> {
  const streams = await client
    .db('admin')
    .aggregate([
      { $currentOp: { idleCursors: true, allUsers: true } },
      { $match: { appName, 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
    ])
    .toArray();
  return streams.length;
}
