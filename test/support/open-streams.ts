import type { TestProvider } from './test-provider.js';

/** How many change streams on these locks the server has, from all processes together. */
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
