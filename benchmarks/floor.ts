import { once } from 'node:events';
import type { ChangeStream, Collection, Db } from 'mongodb';
import { monotonicMs, sleep } from './measure.js';

/** A lock needs at least this: an acknowledged write that no failover rolls back. */
export const WRITE_CONCERN = { w: 'majority', journal: true } as const;

/** Takes a lock of this name, as far as the floor does; the result gives it back. */
export type BareTake = (name: string) => Promise<() => Promise<unknown>>;

/** The least that an acquire and a release can cost: a bare write that may insert the document, and one that changes it. */
export function bareLocks(db: Db): BareTake {
  const floor = db.collection<{ readonly _id: string; readonly n: number }>('bare_locks');
  const write = (_id: string, upsert: boolean): Promise<unknown> =>
    floor.findOneAndUpdate({ _id }, { $inc: { n: 1 } }, { upsert, writeConcern: WRITE_CONCERN });
  return async (name) => {
    await write(name, true);
    return () => write(name, false);
  };
}

/** A document that names the turn and the next process in one string, as a lock names the process that it wakes. */
export interface Turn {
  readonly _id: string;
  /** `process:n`, never the same twice, because an update that changes nothing makes no event. */
  readonly turn: string;
}

/** Opens a change stream that the server filters for one process, as it does the wake stream of a provider. */
export async function watchTurns(
  turns: Collection<Turn>,
  self: string,
  heard: (n: number) => void,
): Promise<ChangeStream> {
  const isMine = { $regex: `^${self}:` };
  const inUpdate = 'updateDescription.updatedFields.turn';
  const stream = turns.watch<Turn>([
    { $match: { $or: [{ [inUpdate]: isMine }, { 'fullDocument.turn': isMine }] } },
    { $project: { turn: { $ifNull: [`$${inUpdate}`, '$fullDocument.turn'] } } },
  ]);
  stream.on('change', (event) => {
    heard(Number((event as unknown as Turn).turn.split(':')[1]));
  });
  await once(stream, 'resumeTokenChanged');
  return stream;
}

/** When a process passed this turn on (the moment before its write), or received it. */
interface Pass {
  readonly n: number;
  readonly atMs: number;
}

/** The turns of one process. */
export interface Turns {
  readonly passed: readonly Pass[];
  readonly received: readonly Pass[];
}

export interface TurnTakerOptions {
  readonly self: number;
  readonly next: number;
  readonly holdMs: number;
}

export interface TurnTaker {
  /** Passes the turn to the next process. */
  readonly pass: (n: number) => Promise<void>;
  readonly stop: () => Promise<Turns>;
}

/**
 * The least that a hand-over can cost: a bare write in one process and its event in another. Every process has a change
 * stream that the server filters for it. A process that gets the turn waits as long as a holder holds, and passes it on.
 */
export async function takeTurns(db: Db, { self, next, holdMs }: TurnTakerOptions): Promise<TurnTaker> {
  const turns = db.collection<Turn>('turns');
  const [passed, received]: [Pass[], Pass[]] = [[], []];
  const pass = async (n: number): Promise<void> => {
    passed.push({ n, atMs: monotonicMs() });
    const update = { $set: { turn: `${next}:${n}` } };
    await turns.findOneAndUpdate({ _id: 'turn' }, update, { upsert: true, writeConcern: WRITE_CONCERN });
  };
  let passing: Promise<void> | undefined;
  const stream = await watchTurns(turns, String(self), (n) => {
    received.push({ n, atMs: monotonicMs() });
    passing = sleep(holdMs).then(() => (stream.closed ? undefined : pass(n + 1)));
  });
  return {
    pass,
    async stop() {
      await stream.close();
      // The client is closed next, which would make a write that is under way fail.
      await passing;
      return { passed, received };
    },
  };
}
