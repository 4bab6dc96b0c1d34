// The process that has change streams open, each filtered by the server for somebody who is never named.
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import type { ChangeStream } from 'mongodb';
import { serve } from '../remote-process.js';

let client: MongoClient | undefined;
const streams: ChangeStream[] = [];

const duties = {
  /** Has so many open from now on. */
  async keepOpen(uri: string, dbName: string, count: number): Promise<void> {
    client ??= await new MongoClient(uri, { maxPoolSize: 200 }).connect();
    const locks = client.db(dbName).collection('distributed.locks');
    while (streams.length > count) await streams.pop()?.close();
    while (streams.length < count) {
      const named = { $regex: ` stranger-${streams.length}:` };
      const stream = locks.watch([
        {
          $match: {
            $or: [{ 'updateDescription.updatedFields.wake': named }, { 'fullDocument.wake': named }],
          },
        },
      ]);
      streams.push(stream);
      stream.on('change', () => undefined);
      await once(stream, 'resumeTokenChanged');
    }
  },

  async close(): Promise<void> {
    for (const stream of streams.splice(0)) await stream.close();
    await client?.close();
  },
};

export type StreamDuties = typeof duties;

serve(duties);
