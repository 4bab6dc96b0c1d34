// One of the processes among which the lock, or the bare turn, goes round.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { TurnTaker } from '../floor.js';
import type { Pass, TurnTakerOptions } from '../floor.js';
import { monotonicMs, sleep } from '../measure.js';
import { serve } from '../remote-process.js';
import { contend } from './contended.js';
import type { Hold, Pace, Span } from './contended.js';

interface SentCommand {
  readonly name: string;
  readonly atMs: number;
}

export interface Contended {
  readonly holds: readonly Hold[];
  readonly commands: readonly SentCommand[];
}

export interface Bounced {
  readonly passed: readonly Pass[];
  readonly received: readonly Pass[];
}

let uri = '';
let dbName = '';
let client: MongoClient | undefined;
let turnTaker: TurnTaker | undefined;
let keeper: LockProvider | undefined;

const duties = {
  async connect(toUri: string, toDb: string): Promise<void> {
    [uri, dbName] = [toUri, toDb];
    client = await new MongoClient(uri).connect();
  },

  /** Wants the lock again and again. The provider is a new one, so that no stream is open in the next block. */
  async contend(span: Span, pace: Pace, countsCommands: boolean): Promise<Contended> {
    const commands: SentCommand[] = [];
    // Monitoring commands costs time, so it happens only where commands are counted.
    const own = countsCommands ? new MongoClient(uri, { monitorCommands: true }) : undefined;
    own?.on('commandStarted', ({ commandName }) => {
      commands.push({ name: commandName, atMs: monotonicMs() });
    });
    const locks = new LockProvider((own ?? connected()).db(dbName));
    const mutex = locks.createMutex('contended');
    const holds = await contend(
      async () => {
        const lock = await mutex.acquire();
        return () => lock.release();
      },
      span,
      pace,
    );
    await locks.close();
    await own?.close();
    return { holds, commands };
  },

  /** Opens a change stream and waits for its turn. */
  async listen(options: TurnTakerOptions): Promise<void> {
    turnTaker = new TurnTaker(connected().db(dbName), options);
    await turnTaker.listen();
  },

  /** Passes the turn on until the time is over. */
  async bounce(span: Span, begins: boolean): Promise<Bounced> {
    if (turnTaker === undefined) throw new Error('listen was not called');
    if (begins) await turnTaker.begin();
    await sleep(span.toMs - monotonicMs());
    const { passed, received } = turnTaker;
    await turnTaker.close();
    return { passed, received };
  },

  /** Acquires a kept lock and releases it, after which this process keeps the seat; how long the acquire took. */
  async takeKept(keepMs: number): Promise<number> {
    keeper ??= new LockProvider(connected().db(dbName));
    const mutex = keeper.createMutex('kept', { keepMs });
    const startedMs = performance.now();
    const lock = await mutex.acquire();
    const tookMs = performance.now() - startedMs;
    await lock.release();
    return tookMs;
  },

  /** Gives up the kept seat and its stream. */
  async letGo(): Promise<void> {
    await keeper?.close();
    keeper = undefined;
  },

  async close(): Promise<void> {
    await client?.close();
  },
};

export type RingDuties = typeof duties;

serve(duties);

function connected(): MongoClient {
  if (client === undefined) throw new Error('connect was not called');
  return client;
}
