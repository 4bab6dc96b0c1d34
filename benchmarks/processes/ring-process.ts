// One of the processes between which the lock, or the bare turn, goes around.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { TurnTaker } from '../floor.js';
import type { Pass, TurnTakerOptions } from '../floor.js';
import { serve } from '../remote-process.js';
import { monotonicMs, sleep } from '../worker-process.js';

/** When a block is measured, on the clock that the processes share; what comes before warms up. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Contending {
  readonly span: Span;
  readonly holdMs: number;
  readonly thinkMs: number;
  readonly countsCommands: boolean;
}

/** One hold; `releasedMs` is the moment just before the release call. */
export interface Hold {
  readonly token: number;
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly releasedMs: number;
}

export interface SentCommand {
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

  /** Wants the lock again and again, by a provider of its own, so that no stream is open in the next block. */
  async contend({ span, holdMs, thinkMs, countsCommands }: Contending): Promise<Contended> {
    const commands: SentCommand[] = [];
    // Listening to commands costs time: only where they are counted.
    const own = countsCommands ? new MongoClient(uri, { monitorCommands: true }) : undefined;
    own?.on('commandStarted', ({ commandName }) => {
      commands.push({ name: commandName, atMs: monotonicMs() });
    });
    const locks = new LockProvider((own ?? connected()).db(dbName));
    const mutex = locks.createMutex('contended');
    const holds: Hold[] = [];
    while (monotonicMs() < span.toMs) {
      const askedMs = monotonicMs();
      const lock = await mutex.acquire();
      const grantedMs = monotonicMs();
      await sleep(holdMs);
      const releasedMs = monotonicMs();
      await lock.release();
      holds.push({ token: lock.fencingToken, askedMs, grantedMs, releasedMs });
      if (thinkMs > 0) await sleep(thinkMs);
    }
    await locks.close();
    await own?.close();
    return { holds, commands };
  },

  /** Opens a change stream and waits for its turn. */
  async listen(options: TurnTakerOptions): Promise<void> {
    turnTaker = new TurnTaker(connected().db(dbName), options);
    await turnTaker.listen();
  },

  /** Passes the turn on, until the time is over. */
  async bounce(span: Span, begins: boolean): Promise<Bounced> {
    if (turnTaker === undefined) throw new Error('told to bounce before it listens');
    if (begins) await turnTaker.begin();
    await sleep(span.toMs - monotonicMs());
    const { passed, received } = turnTaker;
    await turnTaker.close();
    return { passed, received };
  },

  /** Takes a lock whose seat is kept, and gives it back, which leaves this process as its idle keeper. */
  async takeKept(keepMs: number): Promise<number> {
    keeper ??= new LockProvider(connected().db(dbName));
    const startedMs = performance.now();
    const lock = await keeper.createMutex('kept', { keepMs }).acquire();
    const tookMs = performance.now() - startedMs;
    await lock.release();
    return tookMs;
  },

  /** Lets go of what it keeps, and of its stream. */
  async letGo(): Promise<void> {
    await keeper?.close();
    keeper = undefined;
  },

  async disconnect(): Promise<void> {
    await client?.close();
  },
};

export type RingDuties = typeof duties;

serve(duties);

function connected(): MongoClient {
  if (client === undefined) throw new Error('not connected yet');
  return client;
}
