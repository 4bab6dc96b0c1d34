import type { MongoClient } from 'mongodb';
import { processorMsOf } from './processor-time.js';

/** What the server has to do, as far as it can be seen from here. */
export class ServerLoad {
  readonly #observer: MongoClient;
  readonly #pids: readonly number[];

  /** @param pids - Of its processes; none if they run elsewhere. */
  constructor(observer: MongoClient, pids: readonly number[]) {
    this.#observer = observer;
    this.#pids = pids;
  }

  /** Processor time that the server has used so far; `undefined` where nobody tells. */
  get processorMs(): number | undefined {
    const each = this.#pids.map(processorMsOf);
    if (each.length === 0 || each.includes(undefined)) return undefined;
    return each.reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
  }

  /** What the work takes of the server's processor time; NaN where nobody tells. */
  async during(work: () => Promise<unknown>): Promise<number> {
    const before = this.processorMs;
    await work();
    return (this.processorMs ?? NaN) - (before ?? NaN);
  }

  /** How many change streams are open; `undefined` if the server does not tell us. */
  async countStreams(): Promise<number | undefined> {
    const cursors = this.#observer
      .db('admin')
      .aggregate([
        { $currentOp: { idleCursors: true, allUsers: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
        { $group: { _id: '$cursor.cursorId' } },
      ]);
    return await cursors.toArray().then(
      (found) => found.length,
      () => undefined,
    );
  }
}
