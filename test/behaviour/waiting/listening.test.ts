import { describe, expect, it } from 'vitest';
import { distanceFor, untilReadMs } from '../../../src/lease/waiting/wakeup-policy.js';
import type { QueuePosition } from '../../../src/lease/waiting/wakeup-policy.js';

const IDLE_MS = 10_000;
const NOW_MS = 1_000_000;

/** A wait at this place of a queue that last moved `movedAgoMs` ago. */
const standing = (place: number, movedAgoMs: number, waiters = 10): QueuePosition => ({
  place,
  waiters,
  movedAtMs: NOW_MS - movedAgoMs,
});

const decide = (...standings: readonly QueuePosition[]) => distanceFor(standings, IDLE_MS, NOW_MS);

describe('a process', () => {
  it('listens while it is the head of a queue, however quiet that queue is', () => {
    expect(decide(standing(0, 3_600_000), standing(7, 3_600_000))).toMatchObject({ type: 'near' });
  });

  it('listens until all its queues have been quiet for wakeIdleMs', () => {
    expect(decide(standing(3, 60_000), standing(7, 4_000))).toEqual({
      type: 'near',
      untilMs: NOW_MS + 6_000,
    });
    expect(decide(standing(3, 60_000), standing(7, 10_000))).toMatchObject({ type: 'far' });
  });

  it('neither listens nor reads while it has no wait', () => {
    expect(decide()).toBeUndefined();
  });

  it('takes the time of its reads from its lowest place when it is far', () => {
    expect(decide(standing(9, 60_000), standing(3, 60_000))).toEqual({ type: 'far', phaseMs: 24 });
  });

  it('does not treat a queue that moves once a second as quiet, even if wakeIdleMs is 0', () => {
    expect(distanceFor([standing(1, 900)], 0, NOW_MS)).toEqual({ type: 'near', untilMs: NOW_MS + 100 });
    expect(distanceFor([standing(1, 1_000)], 0, NOW_MS)).toMatchObject({ type: 'far' });
  });
});

describe('the reads of a queue', () => {
  it.each([2, 10, 125, 126, 500, 10_000])(
    'spread over one second in the order of the places, with %i waiters',
    (waiters) => {
      const phasesMs = Array.from({ length: waiters - 1 }, (_, behind) => {
        const attention = decide(standing(behind + 1, 60_000, waiters));
        return attention?.type === 'far' ? attention.phaseMs : NaN;
      });
      expect(phasesMs).toEqual([...phasesMs].sort((a, b) => a - b));
      expect(new Set(phasesMs).size).toBe(waiters - 1);
      expect(phasesMs.at(-1)).toBeLessThan(1_000);
    },
  );

  it('come once a second by the server’s clock, although the process only estimates that clock', () => {
    let nowMs = 5_000;
    let lastMs = -Infinity;
    const reads: number[] = [];
    for (let i = 0; i < 100; i += 1) {
      // The estimate is up to five milliseconds off, each time by another amount.
      const serverMs = nowMs + 123 + ((i * 7) % 11) - 5;
      nowMs += untilReadMs(40, serverMs, nowMs - lastMs);
      lastMs = nowMs;
      reads.push(nowMs);
    }
    reads.forEach((atMs, i) => {
      expect(Math.abs(atMs - (5_917 + 1_000 * i))).toBeLessThanOrEqual(5);
    });
  });

  it('are at least half a second apart, even if the place changes', () => {
    let nowMs = 0;
    let lastMs = -Infinity;
    for (let i = 0; i < 500; i += 1) {
      const pauseMs = untilReadMs((i * 389) % 1_000, nowMs, nowMs - lastMs);
      expect(pauseMs).toBeLessThan(1_500);
      if (i > 0) expect(pauseMs).toBeGreaterThanOrEqual(500);
      nowMs += pauseMs;
      lastMs = nowMs;
    }
    expect(nowMs).toBeGreaterThan(400_000);
  });
});

describe('a quiet queue that begins to move', () => {
  const HANDED_MS = 3;
  const OPENING_MS = 15;

  /** A waiter that had this place when the queue began to move. */
  interface Waiter {
    readonly place: number;
    readonly waiters: number;
    /** How far its estimate of the server's clock is ahead. */
    readonly skewMs: number;
  }

  /** When this waiter finds its grant. `grantsMs` has the grants up to its own, in the order of the queue. */
  function foundAtMs({ place: from, waiters, skewMs }: Waiter, grantsMs: readonly number[]): number {
    const grantedMs = grantsMs[from] ?? NaN;
    let nowMs = grantsMs[0] ?? NaN;
    let readMs = -Infinity;
    let isListening = false;
    let known: QueuePosition = { place: from, waiters, movedAtMs: nowMs - 60_000 };
    for (;;) {
      const attention = decideAt(nowMs, known);
      if (attention.type === 'near') {
        // The process listens. It finds an earlier grant as soon as the stream is open.
        if (grantedMs <= attention.untilMs) return Math.max(grantedMs, nowMs + OPENING_MS);
        nowMs = attention.untilMs;
        isListening = true;
        continue;
      }
      // It goes on listening until a read has confirmed that the queue is quiet.
      if (readMs === nowMs) isListening = false;
      nowMs += untilReadMs(attention.phaseMs, nowMs + skewMs, nowMs - readMs);
      readMs = nowMs;
      if (nowMs >= grantedMs) return isListening ? grantedMs : nowMs;
      const place = from - grantsMs.filter((atMs) => atMs <= nowMs).length;
      if (place < known.place) known = { place, waiters, movedAtMs: nowMs };
    }
  }

  function decideAt(nowMs: number, known: QueuePosition) {
    const attention = distanceFor([known], IDLE_MS, nowMs);
    if (attention === undefined) throw new Error('a waiting process has no wakeup mode');
    return attention;
  }

  /** How long each hand-over takes if only the head listens and the others are far. */
  function handOversMs(
    waiters: number,
    holdMs: (place: number) => number,
    startMs: number,
    skewMs: number,
  ): readonly number[] {
    const grantsMs = [startMs];
    let foundMs = startMs;
    return Array.from({ length: waiters - 1 }, (_, before) => {
      const place = before + 1;
      const releasedMs = foundMs + holdMs(before);
      grantsMs.push(releasedMs + HANDED_MS);
      foundMs = foundAtMs({ place, waiters, skewMs: ((place * 37) % 7) * (skewMs / 7) }, grantsMs);
      return foundMs - releasedMs;
    });
  }

  function expectSlow(tookMs: readonly number[], atMost: number): void {
    expect(Math.max(...tookMs)).toBeLessThanOrEqual(1_000 + HANDED_MS);
    expect(tookMs.filter((ms) => ms > 100).length).toBeLessThanOrEqual(atMost);
  }

  it.each([0, 5, 50, 300])(
    'has at most one slow hand-over, whenever it begins to move, with holds of %i ms',
    (holdMs) => {
      for (const waiters of [2, 6, 64, 128, 250]) {
        for (const skewMs of [0, 3, 14]) {
          for (let startMs = 0; startMs < 1_000; startMs += 67) {
            expectSlow(
              handOversMs(waiters, () => holdMs, startMs, skewMs),
              1,
            );
          }
        }
      }
    },
  );

  it.each([200, 3_000, 30_000])(
    'has at most one slow hand-over if the first twenty holds last %i ms and the others 5 ms',
    (slowMs) => {
      for (let startMs = 0; startMs < 1_000; startMs += 67) {
        expectSlow(
          handOversMs(128, (place) => (place < 20 ? slowMs : 5), startMs, 3),
          1,
        );
      }
    },
  );
});
