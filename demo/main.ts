// Four processes run examples/mutex.ts on a real replica set. The demo kills the process that holds the lock and shows
// which one takes over, and when. It ends by itself, with exit code 0 only if everything that it showed is right.
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';
import pc from 'picocolors';
import { connectOrStart } from '../lab/mongo-server/connect-or-start.js';
import type { MongoServer } from '../lab/mongo-server/start.js';
import { nowMs, Worker } from './worker.js';
import type { Hold } from './worker.js';

const NAMES = [pc.green('A'), pc.cyan('B'), pc.yellow('C'), pc.magenta('D')].map(pc.bold);
const LOCK = 'daily-report'; // as in examples/mutex.ts, like the number of rounds
const ROUNDS = 3;
const KILLED = 8; // the ninth hold, while others wait
const MAX_MS = 180_000; // it takes 15 s on two cores

const CLEAR = '\r\x1b[2K';
const isLive = process.stdout.isTTY && pc.isColorSupported;
const inMs = (ms = NaN): string => `${ms.toFixed(1)} ms`;
const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

const database = `leasehold-demo-${randomBytes(6).toString('hex')}`;
const ending = new AbortController();
const news = new EventEmitter();
const holds: Hold[] = [];
let workers: readonly Worker[] = [];
let server: MongoServer | undefined;
let exitCode = 1;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    exitCode = 128 + constants.signals[signal];
    ending.abort(new Error(`ended by ${signal}`));
  });
}
process.on('disconnect', () => {
  ending.abort(new Error('ended with the process that started the demo'));
});
const interrupted = once(ending.signal, 'abort').then(() => false);
try {
  if (await Promise.race([play(), interrupted])) exitCode = 0;
  ending.signal.throwIfAborted();
} catch (error) {
  const { message } = (ending.signal.reason ?? error) as Error;
  console.error(`\nleasehold: ${message.replace(/^leasehold: /, '')}`);
}
await Promise.race([cleanUp(), sleep(5_000)]);
process.exit(exitCode); // after an interrupt, the demo may still wait for something

async function play(): Promise<boolean> {
  server = await connectOrStart();
  setTimeout(() => {
    ending.abort(new Error(`the demo took more than ${inSeconds(MAX_MS)}`));
  }, MAX_MS);
  await using client = new MongoClient(server.uri);
  await using locks = new LockProvider(client.db(database));
  await locks.inspect(LOCK); // connects
  const env = { MONGODB_URI: server.uri, MONGODB_DATABASE: database };
  workers = NAMES.map((name) => new Worker(name, env, holds, () => news.emit('report')));
  for (const { name, ended } of workers) {
    void ended.then((how) => {
      if (/^exit code [^0]/.test(how)) ending.abort(new Error(`${name} ended with ${how}`));
    });
  }
  const roster = workers.map(({ name, pid }) => `${name} ${pc.dim(`pid ${pid}`)}`).join('   ');
  console.log(`4 processes run examples/mutex.ts:  ${roster}`);

  heading('1  One process holds the lock, the others queue', [
    'A release gives the lock to the first in the queue, in the same write. Nobody retries.',
  ]);
  for (let index = 0; index < KILLED; index += 1) await showHold(index);

  heading('2  The holder is killed', [
    'A living holder extends its lease. A dead process extends nothing: the first in the queue gets',
    'the lock when the lease expires, and never before.',
  ]);
  const killed = await showHold(KILLED);
  const expiresMs = await showDeath(killed, locks);
  const next = await showHold(KILLED + 1);
  const count = (workers.length - 1) * ROUNDS + holds.filter(({ worker }) => worker === killed.worker).length;
  for (let index = KILLED + 2; index < count; index += 1) await showHold(index);
  return summarise(killed, next, expiresMs, await Promise.all(workers.map(({ ended }) => ended)));
}

/** Shows a hold, counted from 0, as soon as it has begun and the one before it has ended. */
async function showHold(index: number): Promise<Hold> {
  for (;;) {
    const [before, hold] = [holds[index - 1], holds[index]];
    if (hold !== undefined && before?.endedMs !== Infinity) {
      sayAt(hold.grantedMs, `${hold.worker.name} holds  token ${hold.token}  ${howGranted(hold, before)}`);
      return hold;
    }
    await once(news, 'report', { signal: ending.signal });
  }
}

function howGranted({ askedMs, grantedMs }: Hold, before: Hold | undefined): string {
  if (before === undefined || before.endedMs < askedMs) return pc.dim('the lock was free');
  const tookMs = grantedMs - before.endedMs;
  if (before.wasKilled)
    return `${pc.bold(inSeconds(tookMs))} after the kill: the lease of ${before.worker.name} has expired`;
  const waited = pc.dim(`waited ${(grantedMs - askedMs).toFixed(0)} ms`);
  return `from ${before.worker.name} in ${pc.bold(inMs(tookMs))}  ${waited}`;
}

/** Kills the holder; on a terminal, counts down the rest of its lease. Returns the time at which the lease expires. */
async function showDeath(hold: Hold, locks: LockProvider): Promise<number> {
  const { name, pid, kill, ended } = hold.worker;
  kill();
  await ended;
  if (hold.endedMs !== Infinity) throw new Error('the holder released the lock before it was killed');
  Object.assign(hold, { endedMs: nowMs(), wasKilled: true });
  const seen = await locks.inspect(LOCK);
  const lease = seen?.holders.find(({ token }) => token === hold.token);
  if (!seen || !lease) throw new Error('the lease of the killed process is not stored');
  // The server read its clock after the kill, and tells the time in whole milliseconds.
  const expiresMs = hold.endedMs + lease.expiresAt.getTime() - seen.asOf.getTime() - 1;
  const left = (): string => `its lease expires in ${inSeconds(expiresMs - nowMs())}`;
  sayAt(
    hold.endedMs,
    `${name} ${pc.bold(pc.red('killed'))}  SIGKILL to pid ${pid}, nothing is released: ${left()}`,
  );
  const countdown = setInterval(() => {
    if (holds.at(-1) !== hold) clearInterval(countdown);
    else if (isLive) process.stdout.write(pc.dim(`${CLEAR}            nobody works: ${left()}`));
  }, 100);
  return expiresMs;
}

function summarise(killed: Hold, next: Hold, expiresMs: number, endings: readonly string[]): boolean {
  const pairs = holds.slice(1).map((after, index) => [holds[index] ?? after, after] as const);
  const handOvers = pairs.filter(([before, after]) => !before.wasKilled && after.askedMs < before.endedMs);
  const tookMs = handOvers.map(([before, after]) => after.grantedMs - before.endedMs).sort((a, b) => a - b);
  const expected = workers.map((worker) => (worker === killed.worker ? 'SIGKILL' : 'exit code 0'));
  heading('Summary', []);
  console.log(
    `   hand-over   median ${pc.bold(inMs(tookMs[tookMs.length >> 1]))}, slowest ${inMs(tookMs.at(-1))}`,
  );
  console.log(`   takeover    ${pc.bold(inSeconds(next.grantedMs - killed.endedMs))} after the kill\n`);
  const checks = {
    [`never two holders at a time, in ${holds.length} holds`]: pairs.every(
      ([before, after]) => before.endedMs < after.grantedMs,
    ),
    [`${holds.length} tokens, each higher than the one before it`]: pairs.every(
      ([before, after]) => before.token < after.token,
    ),
    [`no takeover before the lease expired, but ${inMs(next.grantedMs - expiresMs)} after it`]:
      next.grantedMs >= expiresMs,
    'all processes have ended by themselves, except the killed one': endings.join() === expected.join(),
  };
  for (const [claim, isTrue] of Object.entries(checks)) {
    console.log(`   ${isTrue ? pc.green('✓') : pc.bold(pc.red('✗'))} ${claim}`);
  }
  return Object.values(checks).every(Boolean);
}

/** Stops a server that the demo has started; on another server, drops the database of the demo. */
async function cleanUp(): Promise<void> {
  for (const { kill } of workers) kill();
  await Promise.all(workers.map(({ ended }) => ended));
  if (server?.members.length === 0) {
    await using client = new MongoClient(server.uri);
    await client.db(database).dropDatabase();
  }
  await server?.stop();
}

function heading(title: string, explanations: readonly string[]): void {
  console.log(['', pc.bold(title), ...explanations.map((line) => pc.dim(`   ${line}`))].join('\n'));
}

function sayAt(atMs: number, text: string): void {
  const seconds = (atMs - (holds[0]?.askedMs ?? atMs)) / 1000;
  console.log(`${isLive ? CLEAR : ''}${pc.dim(`${seconds.toFixed(1).padStart(6)} s`)}  ${text}`);
}
