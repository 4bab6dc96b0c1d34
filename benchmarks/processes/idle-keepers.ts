// Keepers of a lock each, which no caller uses: by bare driver calls, which hear in three ways of a process that wants
// the lock, and by the library.
import type { Collection, MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { WRITE_CONCERN, watchTurns } from '../floor.js';
import type { Turn } from '../floor.js';
import { sleep, timeOf } from '../measure.js';
import { connectedPlace, newClient } from './connections.js';

/**
 * How a keeper hears. Bare: by a change stream, by a tailable cursor on a small capped collection of hints, or by one
 * read a second. The library: while its callers have used the seat lately, and when they have not.
 */
export type Hearing = 'stream' | 'tail' | 'poll' | 'near' | 'far';

/** What a contender that asked idle keepers has seen, in ms. */
export interface Asked {
  /** From just before its request to its grant. */
  readonly tookMs: readonly number[];
  /** How long it takes to send a hint after the request was acknowledged. */
  readonly hintMs: readonly number[];
}

/** Which idle keepers are asked, and when. */
export interface Questions {
  readonly keepers: number;
  readonly turns: number;
  /** So many keepers are asked at the same time in each turn. */
  readonly atOnce: number;
  /** The pause before a turn is random and at most this long, so that the turns do not follow the reads. */
  readonly restMs: number;
}

interface Hint {
  readonly to: string;
  readonly n: number;
}

type Close = () => unknown;

/** Makes this client a keeper under this name. */
type Keep = (client: MongoClient, self: string) => Promise<Close>;

const HINTS = 'hints';
const HINTS_BYTES = 1_000_000;
const POLL_MS = 1_000;
const CONTENDER = 'contender';

/** Longer than any run. */
const KEEP_MS = 600_000;

/** After so short a quiet time, a keeper of the library is far. */
const FAR_AFTER_MS = 1_000;

const clients: MongoClient[] = [];
let closes: Close[] = [];
let contender: MongoClient | undefined;
let asked = 0;

const dbOf = (client: MongoClient): ReturnType<MongoClient['db']> => client.db(connectedPlace().dbName);
const turnsOf = (client: MongoClient): Collection<Turn> => dbOf(client).collection<Turn>('kept');
const hintsOf = (client: MongoClient): Collection<Hint> => dbOf(client).collection<Hint>(HINTS);

const nameOf = (index: number): string => `keeper${index}`;

/** The document of the lock changes by a majority write, as by every acquire and release. */
const pass = (client: MongoClient, _id: string, turn: string): Promise<unknown> =>
  turnsOf(client).findOneAndUpdate(
    { _id },
    { $set: { turn } },
    { upsert: true, writeConcern: WRITE_CONCERN },
  );

export const idleKeepers = {
  /** Connects a client for each keeper of this process, and makes the collection of hints. */
  async connectKeepers(count: number): Promise<void> {
    contender = newClient(connectedPlace().uri);
    while (clients.length < count) clients.push(newClient(connectedPlace().uri));
    await Promise.all(clients.map((client) => turnsOf(client).findOne({ _id: '' })));
    const options = { capped: true, size: HINTS_BYTES };
    // Another process may have made it.
    await dbOf(contender)
      .createCollection(HINTS, options)
      .catch(() => undefined);
    // A tailable cursor needs one document to begin with.
    await hintsOf(contender).insertOne({ to: '', n: 0 });
  },

  /** The first `count` clients of this process become keepers; resolves when all of them hear. */
  async keepIdle(how: Hearing, first: number, count: number): Promise<void> {
    const keepers = clients.slice(0, count);
    closes = await Promise.all(keepers.map((client, index) => KEEP[how](client, nameOf(first + index))));
  },

  async keepNoMore(): Promise<void> {
    await Promise.all(closes.splice(0).map((close) => close()));
  },

  /** Asks idle keepers for their locks. */
  async askKeepers(how: Hearing, { keepers, turns, atOnce, restMs }: Questions): Promise<Asked> {
    const hintMs: number[] = [];
    const { ask, close } =
      how === 'near' || how === 'far' ? askLibrary() : await askBare(how === 'tail' ? hintMs : undefined);
    const tookMs: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      await sleep(Math.random() * restMs);
      const names = Array.from({ length: atOnce }, (_, index) => nameOf((turn * atOnce + index) % keepers));
      tookMs.push(...(await Promise.all(names.map((name) => timeOf(() => ask(name))))));
    }
    await close();
    return { tookMs, hintMs };
  },
};

interface Contender {
  readonly ask: (keeper: string) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

function askLibrary(): Contender {
  const client = (contender ??= newClient(connectedPlace().uri));
  const locks = new LockProvider(dbOf(client), { createIndexes: false });
  // The seat is given back when the provider closes: a release within the measured time would be one write more.
  return { ask: (keeper) => locks.acquireMutex(keeper), close: () => locks.close({ drainMs: 0 }) };
}

/** @param hintMs - If given, each request is followed by a hint, and takes the time of the hint down here. */
async function askBare(hintMs: number[] | undefined): Promise<Contender> {
  const client = (contender ??= newClient(connectedPlace().uri));
  const grants = new Map<number, () => void>();
  const stream = await watchTurns(turnsOf(client), CONTENDER, (n) => grants.get(n)?.());
  const ask = async (keeper: string): Promise<void> => {
    const n = (asked += 1);
    const granted = new Promise<void>((resolve) => grants.set(n, resolve));
    await pass(client, keeper, `${keeper}:${n}`);
    const hint = (): Promise<unknown> =>
      hintsOf(client).insertOne({ to: keeper, n }, { writeConcern: { w: 1 } });
    if (hintMs !== undefined) hintMs.push(await timeOf(hint));
    await granted;
  };
  return { ask, close: () => stream.close() };
}

const answerOf =
  (client: MongoClient, self: string) =>
  (n: number): void => {
    void pass(client, self, `${CONTENDER}:${n}`);
  };

/** A provider keeps its seat, and no caller uses it any more. */
const keepByLibrary =
  (wakeIdleMs: number): Keep =>
  async (client, self) => {
    const locks = new LockProvider(dbOf(client), { createIndexes: false, wakeIdleMs });
    const mutex = locks.createMutex(self, { keepMs: KEEP_MS });
    // Until its stream is open, a process keeps no seat.
    for (let isKept = false; !isKept;) {
      await (await mutex.acquire()).release();
      isKept = (await locks.inspect(self))?.holders.length === 1;
      if (!isKept) await sleep(20);
    }
    return () => locks.close();
  };

const KEEP: Readonly<Record<Hearing, Keep>> = {
  async stream(client, self) {
    const stream = await watchTurns(turnsOf(client), self, answerOf(client, self));
    return () => stream.close();
  },

  /** The cursor reads the local state: a majority read of a tailable cursor returns only when its wait is over. */
  async tail(client, self) {
    const hints = hintsOf(client);
    const [last] = await hints.find().sort({ $natural: -1 }).limit(1).toArray();
    const cursor = hints.find(
      { to: self, ...(last === undefined ? {} : { _id: { $gt: last._id } }) },
      { tailable: true, awaitData: true, maxAwaitTimeMS: POLL_MS, readConcern: { level: 'local' } },
    );
    const answer = answerOf(client, self);
    const read = async (): Promise<void> => {
      for await (const { n } of cursor) answer(n);
    };
    // The end of the cursor ends the loop with an error.
    read().catch(() => undefined);
    return () => cursor.close();
  },

  /** A read of the one kept document; a read of several of them would be one command, too. */
  poll(client, self) {
    const answer = answerOf(client, self);
    const options = { projection: { turn: 1 }, readConcern: { level: 'local' } } as const;
    let last = 0;
    const read = async (): Promise<void> => {
      const found = await turnsOf(client).findOne({ _id: self }, options);
      const [to, n] = found?.turn.split(':') ?? [];
      if (to !== self || Number(n) === last) return;
      last = Number(n);
      answer(last);
    };
    let timer: NodeJS.Timeout | undefined;
    const begin = setTimeout(() => {
      timer = setInterval(() => {
        void read();
      }, POLL_MS);
    }, Math.random() * POLL_MS);
    return Promise.resolve(() => {
      clearTimeout(begin);
      clearInterval(timer);
    });
  },

  near: keepByLibrary(KEEP_MS),
  far: keepByLibrary(FAR_AFTER_MS),
};
