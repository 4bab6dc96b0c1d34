// One of the processes between which the lock, or the bare turn, goes around.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../src/index.js';
import { TurnTaker } from './floor.js';
import type { Hold, Order, Report, SentCommand } from './handover-messages.js';
import { ParentProcess, monotonicMs, sleep } from './worker-process.js';

type OrderTo<T extends Order['type']> = Extract<Order, { readonly type: T }>;

let uri = '';
let dbName = '';
let client: MongoClient | undefined;
let turnTaker: TurnTaker | undefined;

const parent = new ParentProcess<Order, Report>((order) => {
  obey(order).then(
    (report) => {
      parent.report(report);
      if (order.type === 'end') parent.leave();
    },
    (error: unknown) => {
      parent.report({
        type: 'failed',
        message: error instanceof Error ? (error.stack ?? '') : String(error),
      });
    },
  );
});

async function obey(order: Order): Promise<Report> {
  switch (order.type) {
    case 'connect':
      ({ uri, dbName } = order);
      client = await new MongoClient(uri).connect();
      return { type: 'done' };
    case 'contend':
      return await contend(order);
    case 'listen':
      turnTaker = new TurnTaker(connected().db(dbName), order.turns);
      await turnTaker.listen();
      return { type: 'done' };
    case 'bounce':
      return await bounce(order);
    case 'end':
      await client?.close();
      return { type: 'done' };
  }
}

/** A provider of its own for each block, so that no stream is open in the next one. */
async function contend({ span, holdMs, thinkMs, countsCommands }: OrderTo<'contend'>): Promise<Report> {
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
  return { type: 'contended', holds, commands };
}

async function bounce({ span, begins }: OrderTo<'bounce'>): Promise<Report> {
  if (turnTaker === undefined) throw new Error('told to bounce before it listens');
  if (begins) await turnTaker.begin();
  await sleep(span.toMs - monotonicMs());
  const { passed, received } = turnTaker;
  await turnTaker.close();
  return { type: 'bounced', passed, received };
}

function connected(): MongoClient {
  if (client === undefined) throw new Error('not connected yet');
  return client;
}
