import type { Collection, Db } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';

interface Note {
  readonly _id: string;
  readonly at: Date;
}

let set: MemoryReplicaSet;
let db: Db;
let notes: Collection<Note>;

/** Each read of the wall clock is 1 ms later than the one before it. */
beforeEach(() => {
  let wallMs = Date.UTC(2026, 0, 1);
  vi.spyOn(systemClock, 'wallMs').mockImplementation(() => (wallMs += 1));
  set = new MemoryReplicaSet({ seed: 5, time: 'real' });
  db = set.db();
  notes = db.collection<Note>('notes');
});

afterEach(async () => {
  vi.restoreAllMocks();
  await set.close();
});

const NOW = [{ $set: { at: '$$NOW' } }];

/** When the newest versions were written, oldest first. */
const written = async (count: number): Promise<readonly Date[]> => {
  await vi.waitFor(() => {
    expect(set.versions).toHaveLength(count);
  });
  return set.versions.map(({ at }) => at);
};

describe('in real time, a command reads the clock of its member once:', () => {
  it('an upsert and an update have the time of their entries', async () => {
    await notes.updateOne({ _id: 'a' }, NOW, { upsert: true });
    await notes.updateOne({ _id: 'a' }, NOW);
    const [made, changed] = await written(2);
    expect(set.versions.map(({ document }) => document?.['at'])).toEqual([made, changed]);
    expect(Number(changed)).toBeGreaterThan(Number(made));
  });

  it('findOneAndUpdate has one time for its projection, its update and its entry', async () => {
    const shown = await notes.findOneAndUpdate({ _id: 'a' }, NOW, {
      ...{ upsert: true, returnDocument: 'after', projection: { at: 1, now: '$$NOW' } },
    });
    const [at] = await written(1);
    expect(shown).toEqual({ _id: 'a', at, now: at });
  });

  it('all updates of one command have one time', async () => {
    const updates = ['a', 'b'].map((id) => ({ q: { _id: id }, u: NOW, upsert: true }));
    await db.command({ update: 'notes', updates });
    const [first, second] = await written(2);
    expect(second).toEqual(first);
    expect(set.documents().map(({ at }) => at)).toEqual([first, first]);
  });
});
