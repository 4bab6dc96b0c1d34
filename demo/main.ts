// Several processes share one lock on a real replica set; then its holder is killed. Ends by itself, and with exit code
// 0 only if everything that it showed was right.
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { sleep } from '../benchmarks/worker-process.js';
import { LockProvider } from '../src/index.js';
import { connectOrStart } from '../test/support/mongo-server/connect-or-start.js';
import type { MongoServer } from '../test/support/mongo-server/start.js';
import { Crew } from './crew.js';
import { Interrupted, Interruption } from './interruption.js';
import { showFullSpeed, showHolds } from './scenes.js';
import { Screen } from './screen.js';
import { summarise } from './summary.js';
import { showTakeover } from './takeover.js';

const LEASE_MS = 3_000;

/** Once it has begun, a demo that takes longer than this hangs. */
const MAX_SHOW_MS = 60_000;

const CLEAN_UP_MS = 5_000;

const collectionName = `leasehold.demo.${randomBytes(6).toString('hex')}`;
const interruption = new Interruption();
// The processes take about as long to start as the server does.
const crew = new Crew();
let server: MongoServer | undefined;

try {
  const wasRight = await Promise.race([play(), crew.failure, interruption.happened]);
  process.exitCode = wasRight ? 0 : 1;
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(`\nleasehold: ${message.replace(/^leasehold: /, '')}`);
  process.exitCode = error instanceof Interrupted ? error.exitCode : 1;
}
await Promise.race([cleanUp(), sleep(CLEAN_UP_MS)]);
// What was interrupted may still wait for something that will never come.
process.exit();

async function play(): Promise<boolean> {
  server = await connectOrStart();
  const client = new MongoClient(server.uri);
  const locks = new LockProvider(client.db(), { collectionName, leaseMs: LEASE_MS });
  try {
    await crew.connect(server.uri, collectionName, LEASE_MS);
    return await Promise.race([show(locks), overtime()]);
  } finally {
    await locks.close();
    await client.close();
  }
}

async function show(locks: LockProvider): Promise<boolean> {
  const screen = new Screen();
  screen.line(`${crew.size} processes want one lock:  ${crew.roster}`);
  await showHolds(crew, screen);
  const fullSpeed = await showFullSpeed(crew, screen);
  const takeover = await showTakeover(crew, screen, locks, LEASE_MS);
  const wronglyEnded = await crew.dismiss();
  return summarise(screen, crew.history, {
    fullSpeed,
    takeover,
    wronglyEnded,
    leaseMs: LEASE_MS,
    wakeups: crew.wakeups,
  });
}

async function overtime(): Promise<never> {
  await sleep(MAX_SHOW_MS);
  throw new Error(`the demo took more than ${MAX_SHOW_MS / 1000} s`);
}

/** A server that was started for the demo is thrown away; of another one, only what the demo made. */
async function cleanUp(): Promise<void> {
  await crew.killAll();
  if (server === undefined) return;
  if (server.members.length === 0) {
    const client = new MongoClient(server.uri);
    await client.db().collection(collectionName).drop();
    await client.close();
  }
  await server.stop();
}
