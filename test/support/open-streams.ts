import type { TestProvider } from './test-provider.js';

/**
 * How many change streams on these locks the server has, from all processes together, including those that no client reads any
 * more. Streams of other databases do not count: a server keeps the cursor of a client that died for ten minutes, and a
 * borrowed one has served other files before.
 */
export async function streams({ client, db }: TestProvider): Promise<number> {
  const cursors = client.db('admin').aggregate([
    { $currentOp: { idleCursors: true, allUsers: true, idleConnections: true } },
    {
      $match: {
        ns: `${db.databaseName}.distributed.locks`,
        'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true },
      },
    },
    { $group: { _id: '$cursor.cursorId' } },
  ]);
  return (await cursors.toArray()).length;
}
