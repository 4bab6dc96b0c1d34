// A process that keeps the seat of a mutex and acquires it again and again.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { sleep } from '../measure.js';
import { serve } from '../remote-process.js';

/** What it cost to acquire a kept lock again. */
export interface Again {
  /** The time of each acquire and release together. */
  readonly tookUs: readonly number[];
  /** The names of the commands that were sent meanwhile. */
  readonly commands: readonly string[];
}

/** A grant reserves 256 tokens; after the last one, the process has to ask the server again. */
const ROUNDS = 200;

const MAX_TRIES = 100;

let client: MongoClient | undefined;

const duties = {
  async connect(uri: string): Promise<void> {
    client = await new MongoClient(uri, { monitorCommands: true }).connect();
  },

  /** The provider is a new one, so that it starts with a new grant, whose tokens suffice. */
  async takeAgain(dbName: string, keepMs: number): Promise<Again> {
    if (client === undefined) throw new Error('connect was not called');
    await using locks = new LockProvider(client.db(dbName));
    const mutex = locks.createMutex('kept', { keepMs });
    const commands: string[] = [];
    client.on('commandStarted', ({ commandName }) => {
      commands.push(commandName);
    });
    await locks.ensureIndexes();
    // Until its stream is open, the process does not keep a seat.
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      commands.length = 0;
      await (await mutex.acquire()).release();
      if (commands.length === 0) break;
      await sleep(50);
    }
    commands.length = 0;
    const tookUs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedMs = performance.now();
      await (await mutex.acquire()).release();
      tookUs.push((performance.now() - startedMs) * 1_000);
    }
    client.removeAllListeners('commandStarted');
    return { tookUs, commands };
  },

  async close(): Promise<void> {
    await client?.close();
  },
};

export type KeepDuties = typeof duties;

serve(duties);
