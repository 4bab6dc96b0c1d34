import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { checkHandOvers } from './hand-over-checker.js';
import type { Grant } from './oplog-checker.js';
import { LOCK, granted, history, released } from './written-history.js';
import type { Lines } from './written-history.js';
import { WALL_MS, judged, lease, live, member, mutex } from './written-versions.js';

/** The transition of a lease begins this long before its expiry. */
const TRANSITION_MS = 5_000;

const candidate = (candidateId: string, transitionMs = 0): Document => ({
  ...{ candidateId, value: '', transitionMs },
});

const term = (id: string, token: number, as: string, more: Document = {}): Document =>
  lease(id, token, { ...candidate(as), acquiredAt: new Date(WALL_MS), ...more });

const election = (holder: Document | null, queue: Document = {}, wake = ''): Document =>
  mutex(holder, { kind: 'election', queue, wake });

const waits = (as: string): Document => ({ ...member, ...candidate(as) });

const silent = term('wa', 1, 'a', { transitionMs: TRANSITION_MS });
const both = { wb: waits('b'), wc: waits('a') };

describe('the next leader', () => {
  it.each([
    ['the first waiter after the leader has left', election(term('wb', 2, 'b'), { wc: both.wc }, ' -wa:1')],
    ['the same candidate in the transition', election(term('wc', 2, 'a'), { wb: both.wb })],
    [
      'the first waiter after the same candidate came back and left in one update',
      election(term('wb', 3, 'b'), {}, ' -wc:2'),
    ],
    ['the candidate that the leader has named', election(term('wc', 2, 'a'), { wb: both.wb }, ' -wa:1')],
  ])('is accepted if it is %s', (_, after) => {
    expect(judged([election(silent, both), after]).violations).toEqual([]);
  });

  it('is rejected if it is the candidate of a dead waiter that was admitted in the same update', () => {
    const over = { expiresAt: new Date(WALL_MS - 1), acquiredAt: new Date(WALL_MS - 60_000) };
    const dead = { ...waits('b'), transitionMs: TRANSITION_MS };
    const before = election({ ...silent, ...over }, { ...both, wb: dead });
    const after = election(term('wd', 3, 'b'), { wc: both.wc }, ' p:wb:2');
    expect(judged([before, after]).violations.map(({ what }) => what)).toEqual([
      expect.stringContaining('wd overtakes wc'),
    ]);
  });

  it.each([
    ['another candidate in the transition', /S5|wa loses its seat/, silent, election(term('wb', 2, 'b'))],
    [
      'another candidate in the transition, although the same candidate gave up waiting',
      /wa loses its seat/,
      silent,
      election(term('wb', 2, 'b'), {}, ' -wc:0'),
    ],
    [
      'the first waiter before the transition, although a word says that the same candidate came and left',
      /wa loses its seat/,
      term('wa', 1, 'a'),
      election(term('wb', 3, 'b'), {}, ' -wc:2'),
    ],
    [
      'the same candidate before the transition',
      /wa loses its seat/,
      term('wa', 1, 'a'),
      election(term('wc', 2, 'a'), { wb: both.wb }),
    ],
    [
      'the same candidate after a revocation',
      /wa loses its seat/,
      { ...silent, ending: true },
      election(term('wc', 2, 'a'), { wb: both.wb }),
    ],
    [
      'a waiter further behind, without a hand-over',
      /wc overtakes wb/,
      null,
      election(term('wc', 2, 'd'), { wb: both.wb }),
    ],
  ])('is rejected if it is %s', (_, wrong, before, after) => {
    const first = election(before, { wb: both.wb, wc: before === null ? waits('d') : both.wc });
    const found = judged([{ ...first, fence: 1 }, after]).violations.map(({ what }) => what);
    expect(found.some((what) => wrong.test(what))).toBe(true);
  });

  describe('and its lease', () => {
    const standby = { ...waits('b'), transitionMs: TRANSITION_MS };
    /** The violations when b follows the leader by an update that names the leave of the leader. */
    const elected = (more: Document): readonly string[] => {
      const after = term('wb', 2, 'b', { ...candidate('b', TRANSITION_MS), ...more });
      const steps = [election(silent, { wb: standby }), election(after, {}, ' -wa:1')];
      return judged(steps).violations.map(({ what }) => what);
    };
    const leaseMs = member.leaseMs + TRANSITION_MS;
    const expiresAt = new Date(live.getTime() + TRANSITION_MS);

    it('are accepted with the transition added once', () => {
      expect(elected({ leaseMs, expiresAt })).toEqual([]);
    });

    it('are accepted if the update of the election also was a sign of life', () => {
      expect(elected({ leaseMs, expiresAt: new Date(WALL_MS + leaseMs) })).toEqual([]);
    });

    it.each([
      ['not added, as while it waited', { leaseMs: member.leaseMs, expiresAt: live }, 'has 30000 ms'],
      ['added twice', { leaseMs: leaseMs + TRANSITION_MS, expiresAt }, 'its lease has 40000 ms'],
      [
        'added to a longer lease than its own',
        { leaseMs, expiresAt: new Date(WALL_MS + leaseMs + 1) },
        'wb waited for 30000 ms and a transition of 5000 ms, and counts on 1 ms more',
      ],
    ])('are rejected with the transition %s', (_, more, wrong) => {
      expect(elected(more).some((what) => what.includes(wrong))).toBe(true);
    });

    it('are rejected if its place lasts longer than its lease', () => {
      const lasting = { ...standby, expiresAt: new Date(WALL_MS + leaseMs) };
      const found = (waiter: Document, before: Document = {}): readonly string[] =>
        judged([election(silent, before), election(silent, { wb: waiter })]).violations.map(
          ({ what }) => what,
        );
      expect(found(standby)).toEqual([]);
      expect(found(lasting)).toEqual([expect.stringContaining('wb waits for 4950 ms more than its lease')]);
      // The update is not to blame for a place that was stored earlier, by a clock that was ahead.
      expect(found(lasting, { wb: lasting })).toHaveLength(1);
    });
  });

  it('is rejected if its value changes while it leads', () => {
    const after = election({ ...silent, value: 'http://10.0.0.8' });
    const found = judged([election(silent), after]).violations.map(({ what }) => what);
    expect(found).toEqual([expect.stringContaining('value of wa changes')]);
  });
});

describe('the hand-over checker', () => {
  const grant = (token: number, candidateId: string): Grant => ({
    ...{ lock: LOCK, id: `w${String(token)}`, token, candidateId, term: 1, wallMs: WALL_MS },
  });
  const handed = (isHanded: boolean): Lines => [
    [0, { type: 'asked', ask: 1, lock: LOCK, seat: { kind: 'election', candidateId: 'a' }, timeoutMs: 9 }],
    granted(1, 1, 5, live.getTime() - WALL_MS),
    ...released(2, 1),
    [4, { type: 'handed over', ask: 1, to: 'b', isHanded }],
  ];
  const found = (isHanded: boolean, grants: readonly Grant[]): readonly string[] =>
    [...checkHandOvers(history([handed(isHanded)]), grants)].map(({ what }) => what);

  it('expects the named candidate to lead next after a hand-over', () => {
    expect(found(true, [grant(5, 'a'), grant(6, 'b')])).toEqual([]);
    expect(found(true, [grant(5, 'a'), grant(6, 'c'), grant(7, 'b')])).toEqual([
      'worker 0 has handed term 5 to b, and c follows',
    ]);
    expect(found(true, [grant(5, 'a')])).toEqual(['worker 0 has handed term 5 to b, and nobody follows']);
  });

  it('accepts any candidate after a hand-over that failed', () => {
    expect(found(false, [grant(5, 'a'), grant(6, 'c')])).toEqual([]);
  });
});
