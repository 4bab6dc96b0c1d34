import { EventEmitter } from 'node:events';

import { afterEach, describe, expect, it, vi } from 'vitest';

import type { Output } from '../../../src/cli/output.js';
import { StoreTrouble } from '../../../src/cli/store-trouble.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { eventually, later } from '../../../lab/patience.js';
import { whenTestEnds } from '../../support/current-test.js';
import { keepHold } from '../../support/keep-hold.js';

interface Watched {
  readonly set: MemoryReplicaSet;
  readonly locks: LockProvider;
  readonly trouble: StoreTrouble;
  /** What was said. */
  readonly said: string[];
  /** The failures that the provider reported, each text once. */
  readonly failures: Set<string>;
}

function watched(): Watched {
  const set = new MemoryReplicaSet({ time: 'real', seed: 5 });
  const locks = new LockProvider(set.db('app'), { storeTimeoutMs: 500 });
  const said: string[] = [];
  const output = { say: (...texts: string[]) => said.push(...texts) } as unknown as Output;
  const trouble = new StoreTrouble(locks, output);
  const failures = new Set<string>();
  locks.on('storeError', ({ lockName, during }) => failures.add(`${during} ${String(lockName)}`));
  whenTestEnds(async () => {
    trouble[Symbol.dispose]();
    await locks.close({ drainMs: 0 });
    await set.close();
  });
  return { set, locks, trouble, said, failures };
}

it('one outage is one line, whichever activities and locks it disturbs, and one when the store answers again', async () => {
  const { set, locks, said, failures } = watched();
  const other = new LockProvider(set.db('app'));
  whenTestEnds(() => other.close({ drainMs: 0 }));
  for (const name of ['a', 'b']) await keepHold(other.acquireMutex(name));
  for (const name of ['a', 'b']) void later(locks.acquireMutex(name));
  await keepHold(locks.acquireMutex('c', { leaseMs: 3_000 }));
  await eventually('both wait', () => locks.health().waiting === 2);
  set.stop();
  await eventually('several activities fail', (see) => see(failures).size >= 3);
  await eventually('it is said', (see) => see(said).length > 0);
  set.start();
  await eventually('the end is said', (see) => see(said).length > 1);
  expect(said).toEqual([
    expect.stringMatching(/^The store failed or did not answer: /) as string,
    'The store answers again',
  ]);
});

it('what does not pass by itself is said beside an outage, once', async () => {
  const { locks, trouble, said } = watched();
  const refusal = Object.assign(new Error('not authorized to watch'), { code: 13 });
  for (const during of ['stream', 'read', 'stream'])
    locks.emit('storeError', { lockName: null, during, error: refusal });
  for (const name of ['a', 'b'])
    locks.emit('storeError', { lockName: name, during: 'read', error: new Error('no answer') });
  trouble.failed(new Error('lock "e" is corrupt'));
  await eventually('all is said', (see) => see(said).length >= 4);
  expect(said.sort()).toEqual([
    'The store failed or did not answer: no answer',
    'lock "e" is corrupt',
    'no change stream: waiters poll (not authorized to watch)',
    'not authorized to watch',
  ]);
});

it('a change stream that is refused for good is no outage', async () => {
  const { locks, said } = watched();
  const error = Object.assign(new Error('only on replica sets'), { code: 40_573 });
  for (let times = 0; times < 2; times += 1)
    locks.emit('storeError', { lockName: null, during: 'stream', error });
  locks.emit('storeError', {
    lockName: null,
    during: 'index',
    error: Object.assign(new Error('no'), { code: 13 }),
  });
  await eventually('the later failure is said', (see) => see(said).includes('no'));
  expect(said).toEqual(['no change stream: waiters poll (only on replica sets)', 'no']);
});

it('takes its listeners off', () => {
  const { locks, trouble, failures } = watched();
  const count = (): number => locks.listenerCount('storeError') + locks.listenerCount('lost');
  expect(count()).toBe(3);
  trouble[Symbol.dispose]();
  expect(count()).toBe(1);
  expect(failures.size).toBe(0);
});

describe('when an outage is said, in virtual time', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  type Happening = readonly [atMs: number, what: 'fails' | 'answers'];

  const every = (stepMs: number, fromMs: number, toMs: number, what: Happening[1] = 'fails'): Happening[] =>
    Array.from({ length: Math.floor((toMs - fromMs) / stepMs) + 1 }, (_, at) => [fromMs + at * stepMs, what]);

  /** What is said until `untilMs`, each text with its time in seconds. */
  function saidOf(happenings: readonly Happening[], untilMs: number): readonly string[] {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const startMs = performance.now();
    let answeredMs: number | undefined;
    const health = (): object => ({
      answeredMsAgo: answeredMs === undefined ? null : performance.now() - answeredMs,
    });
    const locks = Object.assign(new EventEmitter(), { health });
    const said: string[] = [];
    const say = (text: string): number => said.push(`${(performance.now() - startMs) / 1_000} s: ${text}`);
    const trouble = new StoreTrouble(locks as unknown as LockProvider, { say } as unknown as Output);
    for (const [atMs, what] of [...happenings].sort(([a], [b]) => a - b)) {
      vi.advanceTimersByTime(startMs + atMs - performance.now());
      if (what === 'answers') answeredMs = performance.now();
      else locks.emit('storeError', { lockName: 'x', during: 'read', error: new Error('no answer') });
    }
    vi.advanceTimersByTime(startMs + untilMs - performance.now());
    trouble[Symbol.dispose]();
    return said;
  }

  const FIRST = '1 s: The store failed or did not answer: no answer';

  it.each<readonly [string, readonly Happening[], untilMs: number, readonly string[]]>([
    [
      'an outage that lasts is said again once a minute, with how long it has lasted',
      every(5_000, 0, 200_000),
      200_000,
      [
        FIRST,
        '65 s: The store has failed or not answered for 1m05s: no answer',
        '125 s: The store has failed or not answered for 2m05s: no answer',
        '185 s: The store has failed or not answered for 3m05s: no answer',
      ],
    ],
    [
      'it is over 10 s after the last failure, if the store has answered since',
      [...every(5_000, 0, 20_000), [21_000, 'answers']],
      120_000,
      [FIRST, '30 s: The store answers again'],
    ],
    [
      'one short failure is an outage too',
      [
        [0, 'fails'],
        [1, 'answers'],
      ],
      120_000,
      [FIRST, '10 s: The store answers again'],
    ],
    [
      'a failure within 10 s of calm belongs to the same outage, whatever was answered between',
      [...every(9_900, 0, 49_500), ...every(9_900, 1, 49_501, 'answers')],
      120_000,
      [FIRST, '59.5 s: The store answers again'],
    ],
    [
      'a failure after that is another outage, which is said at once although no minute has passed',
      [
        [0, 'fails'],
        [1, 'answers'],
        [11_000, 'fails'],
        [11_001, 'answers'],
      ],
      120_000,
      [
        FIRST,
        '10 s: The store answers again',
        '12 s: The store failed or did not answer: no answer',
        '21 s: The store answers again',
      ],
    ],
    [
      'silence without failures is no end: it is over at the look after the answer, within a second',
      [
        [0, 'fails'],
        [100_400, 'answers'],
      ],
      120_000,
      [FIRST, '101 s: The store answers again'],
    ],
    [
      'an answer before the last failure is no end',
      [
        [0, 'fails'],
        [4_000, 'answers'],
        [5_000, 'fails'],
      ],
      120_000,
      [FIRST],
    ],
    ['a store that has never answered is still away', [[0, 'fails']], 600_000, [FIRST]],
  ])('%s', (_, happenings, untilMs, expected) => {
    expect(saidOf(happenings, untilMs)).toEqual(expected);
  });

  it('says nothing of a failure that is followed within a second by the end of the command', () => {
    expect(saidOf([[0, 'fails']], 999)).toEqual([]);
  });
});
