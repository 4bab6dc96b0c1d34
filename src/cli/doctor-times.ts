// What `doctor` measures: clocks, the round trip, and a majority write.

import type { MongoClient } from 'mongodb';

import type { LockProvider } from '../index.js';
import type { Session } from './connection.js';
import { membersIn } from './doctor-checks.js';
import type { Hello } from './doctor-checks.js';
import { fail, ok, warn } from './finding.js';
import type { Finding } from './finding.js';
import { orAborted } from './or-aborted.js';
import { TimeLimit } from './time-limit.js';
import { shownDuration } from './values.js';

const MEMBER_MS = 3_000;

/**
 * The default of `clockAllowanceMs` for leases of at least 10 s. At a failover, the clocks of two members may differ by
 * at most this time.
 */
const ALLOWANCE_MS = 1_000;

/**
 * `doctor` warns if the median of the round trips is at least this long, in ms. It also warns if the median time of an
 * acquire and its release together is at least twice as long.
 */
const SLOW_MS = 200;

/**
 * The locks of which each round acquires the first free one. So no `doctor` waits for another one, or for the lease of
 * one that was killed, and many of them leave few documents.
 */
const LOCKS = ['', ':2', ':3', ':4', ':5', ':6', ':7', ':8'].map((end) => `leasehold:doctor${end}`);

const LEASE_MS = 10_000;

const ROUNDS = 5;

/** After this time, in ms, no further round begins: a slow server is measured by fewer rounds. */
const MEASURING_MS = 2_500;

interface ClockReading {
  readonly host: string;
  /** How far the clock of the member is ahead of this machine, in ms; `null` without an answer. */
  readonly aheadMs: number | null;
}

export async function checkClocks(session: Session): Promise<Finding> {
  const hello: Hello = await session.db.admin().command({ hello: 1 });
  const readings = await Promise.all(membersIn(hello).map((host) => clockOf(session, host)));
  const known = readings.flatMap(({ aheadMs }) => (aheadMs === null ? [] : [aheadMs]));
  if (readings.length === 0) return ok('no member of a replica set to compare');
  const unheard = 'Find out why a member does not answer.';
  const risk = 'two processes may hold one lock after a failover';
  const limit = shownDuration(ALLOWANCE_MS);
  if (known.length === 0)
    return warn(`no member answers, so no clock was compared: from ${limit} apart, ${risk}`, unheard);
  const apartMs = Math.max(...known) - Math.min(...known);
  const detail = readings.map(({ host, aheadMs }) => `${host} ${shownOffset(aheadMs)}`).join(', ');
  const among = `${detail} against this machine; the members are ${shownDuration(apartMs)} apart`;
  const advice = 'Run NTP or chrony on every member, or raise clockAllowanceMs above the difference.';
  if (apartMs >= ALLOWANCE_MS) return fail(`${among}: a lease may end early, and ${risk}`, advice);
  if (known.length < readings.length) {
    const unknown = `the clock of a silent member is unknown, and from ${limit} apart, ${risk}`;
    return warn(`${among}: ${unknown}`, unheard);
  }
  // Leases expire by the clock of the server.
  if (known.some((aheadMs) => Math.abs(aheadMs) >= ALLOWANCE_MS)) {
    const effect =
      'leases do not depend on this machine, but its logs are hard to compare with those of others';
    return warn(`${among}: ${effect}`, 'Run NTP or chrony on this machine too.');
  }
  return apartMs >= ALLOWANCE_MS / 2 ? warn(`${among}: from ${limit} apart, ${risk}`, advice) : ok(among);
}

const shownOffset = (aheadMs: number | null): string =>
  aheadMs === null ? 'does not answer' : `${aheadMs < 0 ? '−' : '+'}${shownDuration(Math.abs(aheadMs))}`;

/** Asks one member for its time, and compares it with the time of this machine in the middle of the round trip. */
async function clockOf(session: Session, host: string): Promise<ClockReading> {
  let member: MongoClient | undefined;
  const aheadMs = async (): Promise<number> => {
    member = session.clientOf(host, MEMBER_MS);
    await member.connect();
    const sentMs = Date.now();
    const { localTime } = (await member.db('admin').command({ hello: 1 })) as { localTime: Date };
    return localTime.getTime() - (sentMs + Date.now()) / 2;
  };
  try {
    // The driver bounds the connection and the command, each of them by this time.
    using limit = new TimeLimit(MEMBER_MS);
    return { host, aheadMs: await orAborted(aheadMs(), limit.signal) };
  } catch {
    return { host, aheadMs: null };
  } finally {
    await member?.close();
  }
}

export async function checkRoundTrip({ db }: Session): Promise<Finding> {
  const times = await timesOf(async () => {
    const startedMs = performance.now();
    await db.command({ ping: 1 });
    return performance.now() - startedMs;
  });
  const ms = medianOf(times);
  const detail = `${shownDuration(ms)} to the primary and back, the median of ${times.length}`;
  if (ms < SLOW_MS) return ok(detail);
  return warn(
    `${detail}: each acquire and each release takes at least that long`,
    'Run the processes nearer to the primary.',
  );
}

export async function checkWrite({ locks, ending }: Session, signal: AbortSignal): Promise<Finding> {
  ending.holds('the lock of the check "majority write"', LEASE_MS);
  const times = await timesOf(async () => await timeOfWrite(locks, signal));
  ending.holdsNothing();
  if (times.length === 0)
    return warn('not measured: other doctors are measuring', 'Check again when they have ended.');
  const ms = medianOf(times);
  const detail = `${shownDuration(ms)} for acquiring and releasing a lock, the median of ${times.length}`;
  if (ms < 2 * SLOW_MS) return ok(detail);
  return warn(
    `${detail}: a majority confirms slowly, and each acquire waits for that`,
    'Look at the disks and at the lag of the secondaries.',
  );
}

/** Acquires and releases a lock. Resolves with the time that this took, in ms; `undefined` if all locks are taken. */
async function timeOfWrite(locks: LockProvider, signal: AbortSignal): Promise<number | undefined> {
  for (const name of LOCKS) {
    const startedMs = performance.now();
    const lock = await locks.tryAcquireMutex(name, { signal, leaseMs: LEASE_MS, why: 'leasehold doctor' });
    if (lock === null) continue;
    await lock.release();
    return performance.now() - startedMs;
  }
  return undefined;
}

async function timesOf(round: () => Promise<number | undefined>): Promise<readonly number[]> {
  const times: number[] = [];
  const endMs = performance.now() + MEASURING_MS;
  for (let rounds = 0; rounds < ROUNDS && performance.now() < endMs; rounds += 1) {
    const ms = await round();
    if (ms !== undefined) times.push(ms);
  }
  return times;
}

const medianOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
