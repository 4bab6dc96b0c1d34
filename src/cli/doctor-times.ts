// What `doctor` measures: clocks, the round trip, and a majority write.

import type { Session } from './connection.js';
import { fail, ok, warn } from './finding.js';
import type { Finding } from './finding.js';
import { shownDuration } from './values.js';

const MEMBER_MS = 3_000;

/**
 * The default of `clockAllowanceMs` for leases of at least 10 s: at a failover, the clocks of two members may differ by
 * as much as this.
 */
const ALLOWANCE_MS = 1_000;

/**
 * `doctor` warns if the median round trip takes this long, in ms, or if an acquire and its release together, again the
 * median, take twice as long.
 */
const SLOW_MS = 200;

/** The lock that is acquired and released. Its document is purged like that of every unused lock. */
const LOCK = 'leasehold:doctor';

const ROUNDS = 5;

interface ClockReading {
  readonly host: string;
  /** How far the clock of the member is ahead of this machine, in ms; `null` without an answer. */
  readonly aheadMs: number | null;
}

export async function checkClocks(session: Session): Promise<Finding> {
  const { hosts = [] } = (await session.db.admin().command({ hello: 1 })) as { hosts?: readonly string[] };
  const readings = await Promise.all(hosts.map((host) => clockOf(session, host)));
  const known = readings.flatMap(({ aheadMs }) => (aheadMs === null ? [] : [aheadMs]));
  if (readings.length === 0) return ok('no member of a replica set to compare');
  const unheard = 'Find out why a member does not answer.';
  if (known.length === 0) return warn('no member answers, so no clock was compared', unheard);
  const apartMs = Math.max(...known) - Math.min(...known);
  const detail = readings.map(({ host, aheadMs }) => `${host} ${shownOffset(aheadMs)}`).join(', ');
  const among = `${detail} against this machine; the members are ${shownDuration(apartMs)} apart`;
  const advice = 'Run NTP or chrony on every member, or raise clockAllowanceMs above the difference.';
  if (apartMs >= ALLOWANCE_MS) {
    return fail(`${among}: after a failover a lease may end early, and two processes hold one lock`, advice);
  }
  if (known.length < readings.length) return warn(among, unheard);
  // Leases expire by the clock of the server. A wrong clock of this machine only makes logs hard to compare.
  if (known.some((aheadMs) => Math.abs(aheadMs) >= ALLOWANCE_MS))
    return warn(among, 'Run NTP or chrony on this machine too.');
  return apartMs >= ALLOWANCE_MS / 2 ? warn(among, advice) : ok(among);
}

const shownOffset = (aheadMs: number | null): string =>
  aheadMs === null ? 'does not answer' : `${aheadMs < 0 ? '−' : '+'}${shownDuration(Math.abs(aheadMs))}`;

/** Asks one member for its time, and compares it with the time of this machine in the middle of the round trip. */
async function clockOf(session: Session, host: string): Promise<ClockReading> {
  const member = session.clientOf(host, MEMBER_MS);
  try {
    await member.connect();
    const sentMs = Date.now();
    const { localTime } = (await member.db('admin').command({ hello: 1 })) as { localTime: Date };
    return { host, aheadMs: localTime.getTime() - (sentMs + Date.now()) / 2 };
  } catch {
    return { host, aheadMs: null };
  } finally {
    await member.close();
  }
}

export async function checkRoundTrip({ db }: Session): Promise<Finding> {
  const times = await timesOf(async () => {
    await db.command({ ping: 1 });
  });
  const ms = medianOf(times);
  const detail = `${shownDuration(ms)} to the primary and back, the median of ${ROUNDS}`;
  if (ms < SLOW_MS) return ok(detail);
  return warn(
    `${detail}: each acquire and each release takes at least that long`,
    'Run the processes nearer to the primary.',
  );
}

export async function checkWrite({ locks }: Session): Promise<Finding> {
  const times = await timesOf(async () => {
    const lock = await locks.acquireMutex(LOCK, {
      timeoutMs: 5_000,
      leaseMs: 10_000,
      why: 'leasehold doctor',
    });
    await lock.release();
  });
  const ms = medianOf(times);
  const detail = `${shownDuration(ms)} for acquiring and releasing a lock, the median of ${ROUNDS}`;
  if (ms < 2 * SLOW_MS) return ok(detail);
  return warn(
    `${detail}: a majority confirms slowly`,
    'Look at the disks and at the lag of the secondaries.',
  );
}

async function timesOf(work: () => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return times;
}

const medianOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
