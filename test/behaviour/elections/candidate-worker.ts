// A process with some candidates of one election, which does what it is told and tells what happens to them.
import { MongoClient } from 'mongodb';
import { LeaseholdError, LockProvider, StaleTokenError, fencedUpdateOne } from '../../../src/index.js';
import type { LeaderElection, LockHandle, LockLostError } from '../../../src/index.js';
import { randomFrom } from '../../../lab/random.js';
import { pause } from '../../../lab/patience.js';
import { nowNs, onOrders, task as given, tell as tellParent } from '../../../lab/processes/parent.js';
import { LOG } from './candidate-lines.js';
import type { CandidatesTask, Line, Order, TermLog } from './candidate-lines.js';

const LOOK_EVERY_MS = 10;
const NS_PER_MS = 1e6;
/** A look's own time is no news. */
const NEWS_NS = 1_000_000n;

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const task = given() as CandidatesTask;
const client = new MongoClient(task.uri);
const db = client.db(task.database);
const locks = new LockProvider(db, task.options);
// Losses and a store that is away are what the tests are about; terms and callbacks tell what follows.
for (const event of ['lost', 'storeError'] as const) locks.on(event, () => undefined);
const log = db.collection<TermLog>(LOG, { writeConcern: { w: 'majority' } });
const random = randomFrom(task.seed);
const candidates = new Map(task.candidateIds.map((id) => [id, candidate(id)]));

function tell(line: Without<Line, 'atNs'>): void {
  tellParent({ ...line, atNs: nowNs() });
}

/** What is no error of the store, nor of a term that is over, is a bug. */
function complain(error: unknown): void {
  if (error instanceof LeaseholdError) return;
  tell({ says: 'complains', what: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

process.on('unhandledRejection', (error) => {
  tell({ says: 'complains', what: `unhandled: ${String(error)}` });
});

function candidate(candidateId: string): LeaderElection {
  let watch: NodeJS.Timeout | undefined;
  const election = locks.createLeaderElection(task.election, {
    candidateId,
    transitionMs: task.transitionMs,
    onElected: async (term) => {
      watch = watched(candidateId, term);
      await write(candidateId, term);
      // Some do no more; others go on until they are told to end, and a little longer.
      if (random.percent(50)) await aborted(term.signal);
      await pause(random.between(0, task.workMs));
      tell({ says: 'worked', candidate: candidateId, token: term.fencingToken });
    },
    onDeposed: async (term, why) => {
      const of = { candidate: candidateId, token: term.fencingToken };
      tell({ says: 'deposed', why, ...of });
      clearInterval(watch);
      await pause(random.between(0, 5));
      tell({ says: 'parted', ...of });
    },
  });
  election.on('error', complain);
  return election;
}

/** Tells that the term has begun, and what it promises from then on. */
function watched(candidateId: string, term: LockHandle): NodeJS.Timeout {
  const of = { candidate: candidateId, token: term.fencingToken };
  // The time first: a process that stands still between the two must not seem to have promised more than it has.
  const promisedNs = (): bigint => {
    const fromNs = process.hrtime.bigint();
    return fromNs + BigInt(Math.floor(term.remainingMs * NS_PER_MS));
  };
  let lastNs = promisedNs();
  tell({ says: 'elected', untilNs: String(lastNs), ...of });
  term.signal.addEventListener('abort', () => {
    tell({ says: 'signalled', why: (term.signal.reason as LockLostError).why, ...of });
  });
  return setInterval(() => {
    const untilNs = promisedNs();
    if (!term.isHeld || untilNs <= lastNs + NEWS_NS) return;
    lastNs = untilNs;
    tell({ says: 'promised', untilNs: String(untilNs), ...of });
  }, LOOK_EVERY_MS);
}

async function write(candidateId: string, term: LockHandle): Promise<void> {
  const entry = { candidate: candidateId, token: term.fencingToken };
  try {
    await fencedUpdateOne(log, { _id: task.election }, { $push: { terms: entry } }, term, { upsert: true });
  } catch (error) {
    // Somebody else has been elected since.
    if (!(error instanceof StaleTokenError)) complain(error);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

async function obey(order: Order): Promise<void> {
  const election = 'candidate' in order ? candidates.get(order.candidate) : undefined;
  switch (order.do) {
    case 'start':
      await election?.start();
      break;
    case 'stop':
      await election?.stop({ drainMs: order.drainMs });
      break;
    case 'resign':
      await election?.resign();
      break;
    case 'hand over':
      if ((await election?.handOverTo(order.to)) === true)
        tell({ says: 'handed over', candidate: order.candidate, to: order.to });
      break;
    case 'say who leads': {
      const leading = [...candidates].filter(([, { isLeader }]) => isLeader);
      tell({ says: 'leads', candidates: leading.map(([id]) => id) });
      break;
    }
    case 'end':
      stopListening();
      await locks.close();
      await client.close();
  }
}

const stopListening = onOrders((order: Order) => {
  obey(order).catch(complain);
});
await client.connect();
tell({ says: 'ready' });
