// A process that takes and gives back locks at random, and writes down what happens to it.
import { MongoClient } from 'mongodb';
import type { Collection } from 'mongodb';

import { LockProvider } from '../../../src/index.js';
import { pause } from '../../../lab/patience.js';
import { onOrders, task as given, tell } from '../../../lab/processes/parent.js';
import type { WorkerLine } from '../history.js';
import { randomFrom } from '../../../lab/random.js';
import { Actor } from './actor.js';
import type { Stage } from './stage.js';
import { Bursts } from './bursts.js';
import { Candidate } from './candidate.js';
import { FileJournal } from './journal.js';
import { APP_NAME, SETS, STEADY_LEASE_MS, STEADY_LOCK, TRANSACTED_SETS } from './messages.js';
import type { Order, Report, WorkerTask } from './messages.js';
import { ObservedHold } from './observed-hold.js';
import { FencedSet, MemorySet, TransactedSet } from './sets.js';
import type { StoredSet } from './sets.js';
import { processorMs, watchStarvation } from './starvation.js';
import { realTime } from './worker-time.js';

/** How long an operation of the user's own may take. */
const BOUNDS = { socketTimeoutMS: 5_000, serverSelectionTimeoutMS: 5_000 };

/** How long what was closed may take to be gone. */
const CLOSE_BOUND_MS = 30_000;

const task = given() as WorkerTask;
const { leaseMs } = task.options;
const journal = new FileJournal<WorkerLine>(task.journalPath);

/** What is open of each kind, as Node counts it. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

interface GroupCommand {
  readonly updates: readonly {
    readonly q: { readonly _id: string | { readonly $in: readonly string[] } };
    readonly u: object;
  }[];
}

/** One statement serves several locks. A statement that only creates a vacant lock is no operation. */
const operationsIn = ({ updates }: GroupCommand): number =>
  updates
    .filter(({ u }) => !('$setOnInsert' in u))
    .reduce((sum, { q: { _id } }) => sum + (typeof _id === 'string' ? 1 : _id.$in.length), 0);

const say: (report: Report) => void = tell;

let isCrashing = false;
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error: unknown) => {
    if (isCrashing) process.exit(7);
    journal.write({
      type: 'complaint',
      what: `${event}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    });
  });
}

const connection = { appName: APP_NAME, driverInfo: { name: task.driver } };
const client = new MongoClient(task.uri, { ...connection, monitorCommands: true });
client.on('commandStarted', ({ commandName, command }) => {
  if (commandName === 'update' && command['ordered'] === false) {
    journal.write({ type: 'group', operations: operationsIn(command as GroupCommand) });
  }
});
/** For what the locks protect: the driver alone would wait for ever on a stopped primary. */
const bounded = new MongoClient(task.uri, { ...connection, ...BOUNDS });
const db = client.db(task.database);
const sets = (name: string): Collection<StoredSet> =>
  bounded.db(task.database).collection(name, { writeConcern: { w: 'majority' } });
const locks = new LockProvider(db, task.options);
journal.write({ type: 'started', process: locks.processId, leaseMs });

const memory = new MemorySet(say);
const random = randomFrom(task.seed);
let isStopping = false;
let asks = 0;
const stage: Stage = {
  locks,
  journal,
  time: realTime,
  leaseMs,
  thinkMs: task.thinkMs,
  idleMs: task.idleMs,
  longHoldPercent: 2,
  locksWanted: task.onlyLock === undefined ? [] : [task.onlyLock],
  sets: [
    { name: 'memory', set: memory },
    { name: 'fenced', set: new FencedSet(sets(SETS)) },
    { name: 'transaction', set: new TransactedSet(bounded, sets(TRANSACTED_SETS)) },
  ],
  get isStopping() {
    return isStopping;
  },
  nextAsk: () => (asks += 1),
};

const stopListening = onOrders((order: Order) => {
  switch (order.do) {
    case 'stop':
      isStopping = true;
      break;
    case 'hear':
      memory.heard(order);
      break;
    case 'block':
      for (const endMs = performance.now() + order.ms; performance.now() < endMs;);
      say({ says: 'unblocked' });
      break;
    case 'crash':
      isCrashing = true;
      throw new Error('as asked');
  }
});

const openBefore = resources();
const stopWatching = watchStarvation(journal, { ...realTime, processorMs });

/** What is open that was not at first; sockets that are being closed get a while for it. */
async function left(): Promise<Record<string, number>> {
  const endMs = performance.now() + CLOSE_BOUND_MS;
  for (;;) {
    const counts = Object.entries(resources()).map(
      ([kind, count]) => [kind, count - (openBefore[kind] ?? 0)] as const,
    );
    const risen = counts.filter(([, count]) => count > 0);
    if (risen.length === 0 || performance.now() > endMs) return Object.fromEntries(risen);
    await pause(20);
  }
}

const goesOn = (): boolean => !isStopping;

/** Holds one mutex for as long as it may, and takes it again if it is lost. */
async function holdSteadily(): Promise<void> {
  const mutex = locks.createMutex(STEADY_LOCK, { leaseMs: STEADY_LEASE_MS });
  while (goesOn()) {
    const ask = stage.nextAsk();
    const seat = { kind: 'mutex' } as const;
    journal.write({ type: 'asked', ask, lock: STEADY_LOCK, seat, timeoutMs: null });
    const hold = new ObservedHold(await mutex.acquire(), ask, stage);
    while (hold.look() && goesOn()) await pause(50);
    await hold.release();
  }
}

const actors = Array.from(
  { length: task.actors },
  () => new Actor(stage, randomFrom(random.between(0, 0x7f_ff_ff_ff))),
);
const seed = random.between(0, 0x7f_ff_ff_ff);
const candidates = task.hasCandidate ? [new Candidate(stage, randomFrom(seed))] : [];
const bursts = Array.from(
  { length: task.bursts },
  () => new Bursts(stage, randomFrom(random.between(0, 0x7f_ff_ff_ff))),
);
say({ says: 'ready' });
const wanting = [...actors, ...candidates, ...bursts];
await Promise.all(task.isSteady ? [holdSteadily()] : wanting.map((each) => each.act()));
await locks.close();
await client.close();
await bounded.close();
stopWatching();
journal.write({ type: 'ended', resources: await left() });
stopListening();
