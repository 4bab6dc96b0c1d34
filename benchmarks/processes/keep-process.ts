// The process that keeps the seat of a mutex and takes it again and again.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { serve } from '../remote-process.js';
import { sleep } from '../worker-process.js';

/** What taking a kept lock again has cost. */
export interface Again {
  /** Of each acquire and release together. */
  readonly tookUs: readonly number[];
  /** The names of what was sent meanwhile. */
  readonly commands: readonly string[];
}

/** A grant reserves 256 tokens; whoever has used them up asks for the seat anew. */
const ROUNDS = 200;

const MAX_TRIES = 100;

let client: MongoClient | undefined;

const duties = {
  async connect(uri: string): Promise<void> {
    client = await new MongoClient(uri, { monitorCommands: true }).connect();
  },

  /** By a provider of its own, so that a new grant comes before, and what it has reserved is enough. */
  async takeAgain(dbName: string, keepMs: number): Promise<Again> {
    if (client === undefined) throw new Error('not connected yet');
    await using locks = new LockProvider(client.db(dbName));
    const mutex = locks.createMutex('kept', { keepMs });
    const commands: string[] = [];
    client.on('commandStarted', ({ commandName }) => {
      commands.push(commandName);
    });
    await locks.ensureIndexes();
    // The first seats go back, because their process does not listen yet.
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

  async disconnect(): Promise<void> {
    await client?.close();
  },
};

export type KeepDuties = typeof duties;

serve(duties);
