import { describe, expect, it } from 'vitest';
import type { LeaderElectionOptions } from '../../../src/index.js';
import { eventually, nowMs, pause, thrown, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

const SOON_MS = 60_000;

const FAILURES: readonly (readonly [string, () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['rejects at once', () => Promise.reject(new Error('no'))],
  [
    'rejects after a while',
    async () => {
      await pause(50);
      throw new Error('no');
    },
  ],
];

describe('a candidate', () => {
  it.each(FAILURES)(
    'gives up its term, lets another candidate lead and queues again if onElected %s',
    async (_, onElected) => {
      const [one, other] = await twoProviders();
      const told: string[] = [];
      const a = one.locks.createLeaderElection('e', {
        candidateId: 'a',
        onElected,
        onDeposed: (_term, why) => told.push(why),
      });
      a.on('error', (error) => told.push((error as Error).message));
      const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
      await a.start();
      await b.start();
      await within(SOON_MS, 'the other', b.untilElected());
      // On a busy machine, the first one may fail again before the other one has queued.
      const before = told.length;
      expect(before).toBeGreaterThanOrEqual(2);
      await eventually('it stands again', async () =>
        (await b.candidates()).some((each) => each.candidateId === 'a'),
      );
      expect([a.state, a.isLeader]).toEqual(['campaigning', false]);
      await b.stop();
      await eventually('it leads again, and fails again', () => told.length >= before + 2);
      await a.stop();
      const terms = told.length / 2;
      expect(told).toEqual(Array.from({ length: terms }, () => ['no', 'resigned']).flat());
    },
  );

  it('waits longer before each new term if onElected fails again and again', async () => {
    const { locks } = await testProvider();
    const electedAtMs: number[] = [];
    const a = locks.createLeaderElection('e', {
      onElected: () => {
        electedAtMs.push(nowMs());
        throw new Error('no');
      },
    });
    a.on('error', () => undefined);
    await a.start();
    await eventually('four terms', () => electedAtMs.length >= 4);
    const [first = 0, second = 0, third = 0, fourth = 0] = electedAtMs;
    // With jitter, a pause is between half and the whole of 0.5, 1 and 2 s.
    expect(second - first).toBeGreaterThanOrEqual(250);
    expect(third - second).toBeGreaterThanOrEqual(500);
    expect(fourth - third).toBeGreaterThanOrEqual(1_000);
    await a.stop();
  });

  it('can be stopped during the pause after onElected failed', async () => {
    const { locks } = await testProvider();
    let elected = 0;
    const a = locks.createLeaderElection('e', {
      onElected: () => {
        elected += 1;
        throw new Error('no');
      },
    });
    a.on('error', () => undefined);
    await a.start();
    await eventually('three terms', () => elected === 3);
    await within(SOON_MS, 'the stop', a.stop());
    expect(await locks.inspect('e')).toMatchObject({ holders: [], waiters: [] });
    await pause(100);
    expect([elected, a.state]).toEqual([3, 'stopped']);
  });

  it('goes on leading after onElected failed if onFailure is lead-on', async () => {
    const { locks } = await testProvider();
    const errors: unknown[] = [];
    const a = locks.createLeaderElection('e', {
      onFailure: 'lead-on',
      onElected: () => Promise.reject(new Error('no')),
    });
    a.on('error', (error) => errors.push(error));
    await a.start();
    const term = await a.untilElected();
    await eventually('the error', () => errors.length === 1);
    await term.confirm();
    expect([a.state, a.term, term.isHeld]).toEqual(['leading', term, true]);
    await a.stop();
  });

  it('has not failed if onElected rejects with the reason of its signal', async () => {
    const { locks } = await testProvider();
    const errors: unknown[] = [];
    const a = locks.createLeaderElection('e', {
      onElected: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    });
    a.on('error', (error) => errors.push(error));
    await a.start();
    await a.untilElected();
    await a.resign();
    await within(SOON_MS, 'another term', a.untilElected());
    await a.stop();
    expect(errors).toEqual([]);
  });

  it('is refused with a wrong onFailure when it is created', async () => {
    const { locks } = await testProvider();
    for (const onFailure of ['stop', 1, null]) {
      const options = { onFailure } as unknown as LeaderElectionOptions;
      expect(thrown(() => locks.createLeaderElection('e', options))).toMatchObject({
        message: expect.stringContaining('onFailure') as unknown,
      });
    }
  });
});
