import { describe, expect, it } from 'vitest';
import type { LeaderElection, LockHandle, LockProvider } from '../../../src/index.js';
import { eventually, later, pause, rejection, within } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { ownDatabase, testProvider } from '../../support/test-provider.js';

const untilAborted = ({ signal }: LockHandle): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener('abort', () => {
        resolve();
      });
  });

/** A candidate whose work ends some time after its signal. `wrong` lists callbacks that came out of order. */
function candidate(
  locks: LockProvider,
  candidateId: string,
  endsAfterMs: () => number = () => 200,
): { readonly election: LeaderElection; readonly wrong: string[]; readonly going: () => number } {
  const wrong: string[] = [];
  let going = 0;
  let isLeading = false;
  const election = locks.createLeaderElection('e', {
    candidateId,
    leaseMs: 2_000,
    onElected: async (term) => {
      if (isLeading) wrong.push('elected twice');
      isLeading = true;
      going += 1;
      await untilAborted(term);
      await pause(endsAfterMs());
      going -= 1;
    },
    onDeposed: () => {
      if (!isLeading || going > 0) wrong.push('deposed while it works');
      isLeading = false;
    },
  });
  return { election, wrong, going: () => going };
}

describe('overlapping calls', () => {
  it('stop, start, stop leave the candidate stopped', async () => {
    const { locks } = await testProvider();
    const { election, wrong, going } = candidate(locks, 'a');
    await election.start();
    await election.untilElected();
    const calls = [election.stop(), election.start(), election.stop()];
    await within(20_000, 'all of them', Promise.all(calls));
    expect([election.state, election.isLeader, going()]).toEqual(['stopped', false, 0]);
    expect(await locks.inspect('e')).toMatchObject({ holders: [], waiters: [] });
    // The start before the last stop has no later effect either.
    await pause(100);
    expect([election.state, wrong]).toEqual(['stopped', []]);
  });

  it('stop, start lead to another term', async () => {
    const { locks } = await testProvider();
    const { election, wrong } = candidate(locks, 'a');
    await election.start();
    const first = await election.untilElected();
    const stopped = election.stop();
    const started = election.start();
    const elected = election.untilElected();
    await within(20_000, 'both', Promise.all([stopped, started]));
    const second = await within(20_000, 'another term', elected);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await election.stop();
    expect(wrong).toEqual([]);
  });

  it('stop, start, close leave the candidate stopped, and the start is rejected', async () => {
    const { locks } = await testProvider();
    const { election, going } = candidate(locks, 'a');
    await election.start();
    await election.untilElected();
    const stopped = election.stop();
    const started = later(election.start());
    await within(20_000, 'the close', locks.close());
    await stopped;
    expect(await rejection(within(20_000, 'the start', started))).toMatchObject({ code: 'PROVIDER_CLOSED' });
    expect([election.state, going()]).toEqual(['stopped', 0]);
  });

  it('stop, start, untilElected, stop end the wait by the later stop, not by the earlier one', async () => {
    const { locks } = await testProvider();
    const { election } = candidate(locks, 'a');
    await election.start();
    await election.untilElected();
    const stopped = election.stop();
    const starting = election.start();
    const waiting = later(election.untilElected());
    const stoppedAgain = election.stop();
    expect(await rejection(waiting)).toMatchObject({ name: 'AbortError' });
    await within(20_000, 'the end', Promise.all([stopped, starting, stoppedAgain]));
  });

  it('start no run of a scheduled job after the last stop', async () => {
    const { locks } = await testProvider();
    let runs = 0;
    let going = 0;
    const job = locks.createScheduledJob('job', {
      everyMs: 50,
      run: async () => {
        runs += 1;
        going += 1;
        await pause(200);
        going -= 1;
      },
    });
    await job.start();
    await eventually('a run', () => runs > 0);
    await within(20_000, 'all of them', Promise.all([job.stop(), job.start(), job.stop()]));
    const before = runs;
    expect(going).toBe(0);
    await pause(300);
    expect(runs).toBe(before);
    // The job runs again if the last call is a start.
    await within(20_000, 'all of them', Promise.all([job.start(), job.stop(), job.start()]));
    await eventually('another run', () => runs > before);
    await within(20_000, 'all of them', Promise.all([job.stop(), job.start(), job.stop({ drainMs: 0 })]));
    await eventually('the end of the run', () => going === 0);
    const last = runs;
    await pause(200);
    expect(runs).toBe(last);
  });
});

const ROUNDS = 12;
const CALLS = 5;

describe('a candidate', () => {
  it('ends in the state that the last call asks for, whatever was called before', async () => {
    const draw = drawing(drawSeed('calls of a candidate'));
    const database = ownDatabase();
    const standby = await database.connected();
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = await database.connected();
      const b = candidate(standby.locks, 'b', () => draw(10));
      const a = candidate(one.locks, 'a', () => draw(40));
      await b.election.start();
      const said: string[] = [];
      const calls: Promise<unknown>[] = [];
      for (let count = 0; count < CALLS; count += 1) {
        const call = count === CALLS - 1 && draw(4) === 0 ? 'close' : draw.one(STEPS);
        said.push(call);
        calls.push(later(play(call, a.election, one.locks)));
        if (draw(2) === 0) await pause(draw(60));
      }
      const words = said.join(', ');
      await within(60_000, words, Promise.allSettled(calls));
      const last = said.findLast((call) => ['start', 'stop', 'stop at once', 'close'].includes(call));
      await expectStateAfter(a, last, words);
      await within(60_000, words, Promise.all([a.election.stop(), b.election.stop()]));
      expect([words, a.wrong, b.wrong, a.going(), b.going()]).toEqual([words, [], [], 0, 0]);
      await eventually(`the election is empty: ${words}`, async () => {
        const left = await standby.locks.inspect('e');
        return left?.holders.length === 0 && left.waiters.length === 0;
      });
      await one.locks.close();
    }
  });
});

const STEPS = ['start', 'start', 'start', 'stop', 'stop at once', 'resign', 'hand over'] as const;

async function play(call: string, a: LeaderElection, locks: LockProvider): Promise<void> {
  if (call === 'start') await a.start();
  else if (call === 'stop') await a.stop();
  else if (call === 'stop at once') await a.stop({ drainMs: 0 });
  else if (call === 'resign') await a.resign();
  else if (call === 'hand over') await a.handOverTo('b');
  else await locks.close();
}

async function expectStateAfter(
  { election, going }: ReturnType<typeof candidate>,
  last: string | undefined,
  words: string,
): Promise<void> {
  if (last === 'start') {
    await eventually(`it stands: ${words}`, async () =>
      (await election.candidates()).some(({ candidateId }) => candidateId === 'a'),
    );
    return;
  }
  expect([words, election.state, election.isLeader, election.term]).toEqual([words, 'stopped', false, null]);
  if (last === 'stop' || last === 'close')
    await eventually(`its work has ended: ${words}`, () => going() === 0);
}

interface Draw {
  (below: number): number;
  one<T>(all: readonly T[]): T;
}

/** Pseudo-random numbers from a seed. */
function drawing(seed: number): Draw {
  let state = seed;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Object.assign(draw, {
    one: <T>(all: readonly T[]): T => {
      const [first] = all;
      const drawn = all[draw(all.length)] ?? first;
      if (drawn === undefined) throw new Error('there is nothing to draw from');
      return drawn;
    },
  });
}
