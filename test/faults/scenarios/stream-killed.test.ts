import type { Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { LockProvider } from '../../../src/index.js';
import { killCursors } from '../../../lab/mongo-server/kill-cursors.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { drawSeed } from '../../support/seed.js';
import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { OwnDatabase } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';

// A server of its own, because the test counts the cursors and connections of the whole server.
let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
});

afterAll(async () => {
  await server.stop();
});

const COLLECTION = 'distributed.locks';

/** A lease so long that no look comes by time: a waiter hears by an event, or by a look when its stream opens. */
const NO_LOOKS = { leaseMs: 86_400_000, createIndexes: false };

/** The open change streams on the locks of this database. */
async function streamsOn(db: Db): Promise<readonly unknown[]> {
  const cursors = await db.client
    .db('admin')
    .aggregate([
      { $currentOp: { idleCursors: true, allUsers: true } },
      { $match: { ns: `${db.databaseName}.${COLLECTION}`, 'cursor.tailable': true } },
      { $group: { _id: '$cursor.cursorId' } },
    ])
    .toArray();
  return cursors.map(({ _id }) => _id as unknown);
}

const killAll = async (db: Db): Promise<number> => await killCursors(db, COLLECTION, await streamsOn(db));

interface Counts {
  readonly cursors: number;
  readonly connections: number;
}

async function countsOf(db: Db): Promise<Counts> {
  const status = await db.client.db('admin').command({ serverStatus: 1 });
  const { metrics, connections } = status as {
    metrics: { cursor: { open: { total: number } } };
    connections: { current: number };
  };
  return { cursors: metrics.cursor.open.total, connections: connections.current };
}

/** How many connections of this client are in use. */
function watchCheckouts(client: MongoClient): () => number {
  let inUse = 0;
  client.on('connectionCheckedOut', () => (inUse += 1));
  client.on('connectionCheckedIn', () => (inUse -= 1));
  return () => inUse;
}

/** Hands a lock from one provider to another, which waits for no other lock, again and again until it is told to end. */
class Lane {
  readonly #name: string;
  readonly #from: LockProvider;
  readonly #to: LockProvider;
  handOvers = 0;
  longestMs = 0;

  constructor(name: string, from: LockProvider, to: LockProvider) {
    this.#name = name;
    this.#from = from;
    this.#to = to;
  }

  async run(random: Random, goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      this.longestMs = Math.max(this.longestMs, await this.#handOver(random));
      this.handOvers += 1;
    }
  }

  /** Returns how long it took from the release to the end of the next hold, in ms. */
  async #handOver(random: Random): Promise<number> {
    const [name, from, to] = [this.#name, this.#from, this.#to];
    const hold = await from.acquireMutex(name);
    const queued = new Promise((resolve) => to.once('waiting', resolve));
    // Without a time limit: the cancel at its end would find a grant of which no event came, and hide the loss.
    const waiting = later(to.acquireMutex(name));
    await queued;
    await pause(random.between(0, 100));
    const startedMs = performance.now();
    await hold.release();
    await (await waiting).release();
    return performance.now() - startedMs;
  }
}

describe('wake streams that are killed a thousand times', () => {
  // Twice as many streams keep a server so busy that a hand-over took 21 s on a slow machine.
  const LANES = 40;
  const KILLS = 1_000;
  /** Then the streams stay open until every lane has gone on: a stream that opens again would find a lost wake-up. */
  const KILLS_IN_A_ROW = 200;
  /** A wake-up that is lost never comes, so this only bounds a failure. */
  const LOST_AFTER_MS = 120_000;

  it('lose no wake-up, and leave no cursor and no connection behind (L2, R1)', async () => {
    await using database = new OwnDatabase(server.uri);
    const { db } = database.plain;
    await streamsOn(db);
    const before = await countsOf(db);
    const holder = database.client();
    const waiters = Array.from({ length: LANES }, () => database.client({ maxPoolSize: 4 }));
    const inUse = waiters.map(({ client }) => watchCheckouts(client));
    const holding = holder.provider(NO_LOOKS);
    const waiting = waiters.map((each) => each.provider(NO_LOOKS));

    const random = randomFrom(drawSeed('killed streams'));
    let isOver = false;
    const lanes = waiting.map((locks, lane) => new Lane(`lock ${lane}`, holding, locks));
    const running = later(Promise.all(lanes.map((lane) => lane.run(random, () => !isOver))));
    let kills = 0;
    while (kills < KILLS) {
      const until = kills + KILLS_IN_A_ROW;
      while (kills < until) {
        kills += await killAll(db);
        await pause(100);
      }
      const handedBefore = lanes.map(({ handOvers }) => handOvers);
      const hasGoneOn = (): boolean =>
        lanes.every(({ handOvers }, lane) => handOvers > (handedBefore[lane] ?? 0) + 1);
      await Promise.race([running, eventually('every lane goes on', hasGoneOn, LOST_AFTER_MS)]);
    }
    isOver = true;
    await within(LOST_AFTER_MS, 'every wait ends', running);
    const [longestMs, handOvers] = [
      Math.max(...lanes.map((lane) => lane.longestMs)),
      lanes.reduce((sum, lane) => sum + lane.handOvers, 0),
    ];
    console.log(`${kills} kills; ${handOvers} hand-overs; the longest took ${longestMs.toFixed(0)} ms`);

    // Each provider has one stream, and no more.
    const holds = await Promise.all(waiting.map((_, lane) => holding.acquireMutex(`lock ${lane}`)));
    const waits = waiting.map((locks, lane) => later(locks.acquireMutex(`lock ${lane}`)));
    await eventually('one stream each', async () => (await countsOf(db)).cursors === before.cursors + LANES);
    await Promise.all(holds.map((hold) => hold.release()));
    await Promise.all((await Promise.all(waits)).map((hold) => hold.release()));

    await Promise.all(waiting.map((locks) => locks.close()));
    await eventually('no connection is in use', () => inUse.every((count) => count() === 0));
    await Promise.all([holder, ...waiters].map(({ client }) => client.close()));
    await eventually('as before', async () => {
      const { cursors, connections } = await countsOf(db);
      // The one client that is left opens one more connection, by which it measures round trips.
      return cursors === before.cursors && connections <= before.connections + 1;
    });
  });
});

describe('without a fault', () => {
  const ROUNDS = 300;

  const looksIn = ({ commands }: OwnClient): number =>
    commands.filter(({ command }) => / ~[0-9a-f]{12}/.test(JSON.stringify(command['update'] ?? null))).length;

  it('every hand-over is heard of by an event, without looks and without polling (L2)', async () => {
    await using database = new OwnDatabase(server.uri);
    const clients = [database.client(), database.client()];
    const [one, other] = clients.map((client) => client.provider(NO_LOOKS));
    if (one === undefined || other === undefined) throw new Error('there are two');
    // The first waits open the streams, and each opening makes one look.
    let hold = await one.acquireMutex('a');
    let queued = 0;
    for (const locks of [one, other]) locks.on('waiting', () => (queued += 1));
    const passOn = async (to: LockProvider): Promise<void> => {
      const before = queued;
      const waiting = later(to.acquireMutex('a'));
      await eventually('it is queued', () => queued > before);
      await hold.release();
      hold = await within(10_000, 'the hand-over', waiting);
    };
    const sent = (): readonly string[] =>
      clients.flatMap(({ commands }) => commands.map(({ commandName }) => commandName));
    while (!clients.every((client) => looksIn(client) > 0))
      for (const locks of [other, one]) await passOn(locks);

    const looksBefore = clients.map(looksIn);
    const sentBefore = sent().length;
    for (let round = 0; round < ROUNDS; round += 1) await passOn(round % 2 === 0 ? other : one);
    expect(clients.map(looksIn)).toEqual(looksBefore);
    // An enqueue and a leave each, and nothing else.
    expect(sent().length - sentBefore).toBe(2 * ROUNDS);
    await hold.release();
  });
});
