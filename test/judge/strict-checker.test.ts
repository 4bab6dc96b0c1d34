import { Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { Grant } from './oplog-checker.js';
import { slowTimesIn } from './slow-times.js';
import { StrictChecker } from './strict-checker.js';
import type { Promptness } from './strict-checker.js';
import { LOCK, READ, asked, at, granted, held, history, released } from './written-history.js';
import type { Lines } from './written-history.js';
import { member, othersQueue, reader, readerWriter, upgradeable } from './written-versions.js';
import type { Versions } from './written-versions.js';

/** The oplog's clock and that of the workers begin together. */
const aheadMs = -Number(at(0)) / 1e6;
/** Less than the time between two versions, or more. */
const [PROMPT_MS, LENIENT_MS] = [100, 1_500];

const kept = reader('w8', 8, { keeps: 1 });
const grant: Grant = { lock: LOCK, id: 'w8', token: 8, keeps: 1, mode: 'read', term: 1, wallMs: 0 };

/** The versions are a second apart, from 0 on. */
function found(
  versions: Versions,
  lines: Lines,
  promptMs = PROMPT_MS,
  silentMs: (fromMs: number, untilMs: number) => number = () => 0,
  more: Pick<Promptness, 'unheardMs' | 'slowMs' | 'isAway'> = {},
  given = grant,
  workersBefore: readonly Lines[] = [],
): readonly string[] {
  const checker = new StrictChecker();
  for (const [index, after] of versions.entries()) {
    const ts = new Timestamp({ t: 1, i: index });
    const before = versions[index - 1] ?? null;
    checker.take({ name: LOCK, before, after, term: 1, wallMs: index * 1_000, ts });
  }
  const violations = checker.judge(history([...workersBefore, lines]), [given], {
    aheadMs,
    promptMs,
    silentMs,
    ...more,
  });
  return violations.map(({ invariant, what }) => `${invariant} ${what}`);
}

const shared = readerWriter([kept]);
const told = readerWriter([kept], { queue: othersQueue('wb'), wake: ' p:w8:-1' });
const toldOfUpgrade = readerWriter([kept, upgradeable({ upgrading: true })], { wake: ' p:w8:-1' });
const left = readerWriter([], { wake: ' -w8:8' });

/** Asks for a read one ms before this time, and shares `w8`. */
const readAt = (ms: number): Lines => held(READ, 8, ms, ms + 5, 1);

describe('the checker of strict rounds', () => {
  it('accepts a reader that shares a lease long after its grant', () => {
    expect(found([shared, left], readAt(900))).toEqual([]);
  });

  it('finds a lease that ends by itself and a hold that is lost, unless answers were kept away for as long', () => {
    const lines: Lines = [
      asked(100, 1, READ),
      granted(110, 1, 8, 2_500),
      [2_500, { type: 'lost', ask: 1, why: 'expired' }],
    ];
    const versions = [shared, readerWriter([])];
    expect(found(versions, lines)).toEqual([
      expect.stringMatching(/^L4 worker 0, ask 1: lost/),
      expect.stringMatching(/^R1 lock: w8 was granted, and was never given back/),
    ]);
    const asOf: number[] = [];
    const isAway = (untilMs: number): boolean => asOf.push(untilMs) > 0;
    expect(found(versions, lines, PROMPT_MS, () => 0, { isAway })).toEqual([]);
    expect(asOf).toEqual([Number(at(2_500)) / 1e6, member.expiresAt.getTime() - aheadMs]);
  });

  it('finds a grant that is heard late, and does not count the time in which answers were lost', () => {
    const lines = [asked(0, 1, READ), granted(1_200, 1, 8, 2_500), ...released(1_300, 1)];
    expect(found([shared, left], lines)).toEqual([
      expect.stringMatching(/^L2 .*heard 1200 ms after its grant/),
    ]);
    const silentMs = (fromMs: number, untilMs: number): number => untilMs - fromMs - 50;
    expect(found([shared, left], lines, PROMPT_MS, silentMs)).toEqual([]);
  });

  it('accepts that news are late by the time in which change streams showed nothing', () => {
    const lines = [asked(0, 1, READ), granted(1_200, 1, 8, 2_500), ...released(1_300, 1)];
    const silently = (ms: number): readonly string[] =>
      found([shared, left], lines, PROMPT_MS, undefined, { unheardMs: () => ms });
    expect(silently(1_150)).toEqual([]);
    expect(silently(1_050)).toHaveLength(1);
    const sharing = [...held(READ, 8, 900, 1_500, 2), ...readAt(2_500)];
    const versions = [shared, told, told, left];
    expect(found(versions, sharing, PROMPT_MS, undefined, { unheardMs: () => 1_450 })).toEqual([]);
  });

  it('finds a seat that is not given back', () => {
    expect(found([shared], readAt(900))).toEqual([expect.stringMatching(/^R1 .*w8 was granted/)]);
  });

  it('accepts what a store that is slow for everybody delays, and nothing else', () => {
    const slowMs = slowTimesIn({
      run: [{ type: 'store was slow', sinceNs: at(100), atNs: at(1_250) }],
      workers: [],
    });
    const late = (grantedAtMs: number): Lines => [
      ...[asked(0, 1, READ), granted(grantedAtMs, 1, 8, 2_500), ...released(2_000, 1)],
    ];
    const leniently = (versions: Versions, lines: Lines): readonly string[] =>
      found(versions, lines, PROMPT_MS, undefined, { slowMs });
    expect(leniently([shared, left], late(1_149))).toEqual([]);
    expect(leniently([shared, left], late(1_400))).toHaveLength(1);
    expect(leniently([shared], readAt(900))).toEqual([]);
    const lateGrant = { ...grant, wallMs: 1_300 };
    expect(found([shared], readAt(900), PROMPT_MS, undefined, { slowMs }, lateGrant)).toHaveLength(1);
  });

  it('does not count the time in which the machine did not let the worker run, and counts no time twice', () => {
    const starved = (sinceMs: number, atMs: number): Lines[number] => [
      atMs,
      { type: 'starved', sinceNs: at(sinceMs) },
    ];
    const late = [asked(0, 1, READ), granted(1_200, 1, 8, 2_500), ...released(1_300, 1)];
    const judged = (...starvation: Lines): readonly string[] => {
      const lines = [...late, ...starvation];
      const slowMs = slowTimesIn(history([lines], [[700, { type: 'store was slow', sinceNs: at(500) }]]));
      return found([shared, left], lines, PROMPT_MS, undefined, { slowMs });
    };
    expect(judged()).toEqual([expect.stringMatching(/^L2 .*heard 1200 ms after its grant/)]);
    expect(judged(starved(50, 700), starved(750, 1_250))).toEqual([]);
    expect(judged(starved(50, 700), starved(850, 1_250))).toHaveLength(1);
  });

  it.each([
    [
      'news',
      [shared, left],
      [asked(0, 1, READ), granted(1_200, 1, 8, 2_500), ...released(1_300, 1)],
      PROMPT_MS,
    ],
    [
      'shared lease',
      [shared, told, told, left],
      [...held(READ, 8, 900, 1_500, 2), ...readAt(2_500)],
      PROMPT_MS,
    ],
    ['idle lease', [shared, told, told, left], [], LENIENT_MS],
  ] as const)(
    'excuses late %s by the starvation of the worker that it concerns, and of no other',
    (_, versions, lines, promptMs) => {
      const judgedWith = (starved: number) =>
        found(
          versions,
          lines,
          promptMs,
          undefined,
          { slowMs: (fromMs, untilMs, worker) => (worker === starved ? untilMs - fromMs : 0) },
          grant,
          [[[0, { type: 'started', process: 'q', leaseMs: 1 }]]],
        );
      expect(judgedWith(1)).toEqual([]);
      expect(judgedWith(0)).toHaveLength(1);
    },
  );

  it('accepts a reader that shares a lease just after its keeper was told of a waiter', () => {
    expect(found([shared, told, left], readAt(1_050))).toEqual([]);
  });

  it('accepts a reader that shares a lease when nobody waits any more', () => {
    const lines = [...held(READ, 8, 900, 1_500, 2), ...readAt(2_500)];
    expect(found([shared, told, shared, left], lines)).toEqual([]);
  });

  it.each([
    ['waiter', told],
    ['upgrade', toldOfUpgrade],
  ])('finds a reader that shares a lease although its keeper was told of a waiting %s', (_, version) => {
    const lines = [...held(READ, 8, 900, 1_500, 2), ...readAt(2_500)];
    expect(found([shared, version, version, left], lines)).toEqual([
      expect.stringMatching(/^L3 .*ask 1 shares w8, whose keeper was told of a waiter 1499 ms before/),
    ]);
  });

  it('finds a lease that no caller uses, and that its keeper has not given back although it was told of a waiter', () => {
    expect(found([shared, told, told, left], [], LENIENT_MS)).toEqual([
      expect.stringMatching(/^L2 .* w8: kept for 2000 ms after its keeper was told of a waiter/),
    ]);
  });

  it('accepts that a lease is kept while a caller uses it', () => {
    expect(found([shared, told, told, left], held(READ, 8, 500, 2_900, 1), LENIENT_MS)).toEqual([]);
  });

  it.each([
    ['accepts that a lease is kept while its process asks for several locks', 'p', 0],
    ['finds a lease that is kept while another process asks for several locks', 'q', 1],
  ])('%s', (_, process, count) => {
    const several: Lines[number] = [
      500,
      { type: 'asked', ask: 1, lock: LOCK, seat: READ, timeoutMs: null, isOneOfSeveral: true },
    ];
    const lines: Lines = [[0, { type: 'started', process, leaseMs: 1 }], several];
    expect(found([shared, told, told, left], lines, LENIENT_MS)).toHaveLength(count);
  });

  it('accepts that a lease is kept after a waiter has gone', () => {
    expect(found([shared, told, shared, shared, left], [], LENIENT_MS)).toEqual([]);
  });
});
