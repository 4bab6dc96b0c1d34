import { once } from 'node:events';
import type { ChangeStream, Collection, Db, MongoClient } from 'mongodb';
import { monotonicMs, sleep } from './measure.js';

/** A lock needs at least this: an acknowledged write that no failover rolls back. */
const WRITE_CONCERN = { w: 'majority', journal: true } as const;

interface Counter {
  readonly _id: string;
  readonly n: number;
}

/** The least that an acquire or a release can cost: one write of a small document, with the driver's defaults. */
export class BareWrite {
  readonly #counters: Collection<Counter>;

  constructor(client: MongoClient, dbName: string) {
    this.#counters = client.db(dbName).collection<Counter>('floor');
  }

  async prepare(): Promise<void> {
    await this.#counters.updateOne({ _id: 'counter' }, { $set: { n: 0 } }, { upsert: true });
  }

  async run(): Promise<void> {
    const options = { writeConcern: WRITE_CONCERN };
    await this.#counters.findOneAndUpdate({ _id: 'counter' }, { $inc: { n: 1 } }, options);
  }
}

/** A document that names the turn and the next process in one string, as a lock names the process that it wakes. */
interface Turn {
  readonly _id: string;
  /** `process:n`, never the same twice, because an update that changes nothing makes no event. */
  readonly turn: string;
}

/** When a process passed this turn on (the moment before its write), or received it. */
export interface Pass {
  readonly n: number;
  readonly atMs: number;
}

export interface TurnTakerOptions {
  readonly self: number;
  readonly next: number;
  readonly holdMs: number;
}

/**
 * The least that a hand-over can cost: a bare write in one process and its event in another. Every process has a change
 * stream that the server filters for it. The process whose turn it is waits as long as a holder holds, and passes it on.
 */
export class TurnTaker {
  readonly passed: Pass[] = [];
  readonly received: Pass[] = [];
  readonly #turns: Collection<Turn>;
  readonly #options: TurnTakerOptions;
  #stream: ChangeStream<Turn> | undefined;

  constructor(db: Db, options: TurnTakerOptions) {
    this.#turns = db.collection<Turn>('turns');
    this.#options = options;
  }

  /** Resolves when the stream is open. */
  async listen(): Promise<void> {
    const isMine = { $regex: `^${this.#options.self}:` };
    const stream = this.#turns.watch<Turn>([
      {
        $match: {
          $or: [{ 'updateDescription.updatedFields.turn': isMine }, { 'fullDocument.turn': isMine }],
        },
      },
      { $project: { turn: { $ifNull: ['$updateDescription.updatedFields.turn', '$fullDocument.turn'] } } },
    ]);
    this.#stream = stream;
    stream.on('change', (event) => {
      const { turn } = event as unknown as Turn;
      void this.#take(Number(turn.split(':')[1]));
    });
    await once(stream, 'resumeTokenChanged');
  }

  async begin(): Promise<void> {
    await this.#pass(0);
  }

  async close(): Promise<void> {
    await this.#stream?.close();
    this.#stream = undefined;
  }

  async #take(n: number): Promise<void> {
    this.received.push({ n, atMs: monotonicMs() });
    await sleep(this.#options.holdMs);
    if (this.#stream !== undefined) await this.#pass(n + 1);
  }

  async #pass(n: number): Promise<void> {
    this.passed.push({ n, atMs: monotonicMs() });
    await this.#turns.findOneAndUpdate(
      { _id: 'turn' },
      { $set: { turn: `${this.#options.next}:${n}` } },
      { upsert: true, writeConcern: WRITE_CONCERN },
    );
  }
}
