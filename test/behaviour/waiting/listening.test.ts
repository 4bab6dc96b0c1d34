import { describe, expect, it } from 'vitest';
import { wakeupModeFor, untilReadMs } from '../../../src/lease/waiting/wakeup-policy.js';
import type { QueuePosition } from '../../../src/lease/waiting/wakeup-policy.js';

const IDLE_MS = 10_000;
const NOW_MS = 1_000_000;

/** A place in a queue of ten that moved so long ago. */
const standing = (place: number, movedAgoMs: number, waiters = 10): QueuePosition => ({
  place,
  waiters,
  movedAtMs: NOW_MS - movedAgoMs,
});

const decide = (...standings: readonly QueuePosition[]) => wakeupModeFor(standings, IDLE_MS, NOW_MS);

describe('a process', () => {
  it('listens while it is the first of some queue, however quiet that is', () => {
    expect(decide(standing(0, 3_600_000), standing(7, 3_600_000))).toMatchObject({ type: 'near' });
  });

  it('listens while some queue that it waits in has moved lately, and until that is long enough ago', () => {
    expect(decide(standing(3, 60_000), standing(7, 4_000))).toEqual({
      type: 'near',
      untilMs: NOW_MS + 6_000,
    });
    expect(decide(standing(3, 60_000), standing(7, 10_000))).toMatchObject({ type: 'far' });
  });

  it('does neither while it waits for nothing', () => {
    expect(decide()).toBeUndefined();
  });

  it('reads in the order of its best place when it is far', () => {
    expect(decide(standing(9, 60_000), standing(3, 60_000))).toEqual({ type: 'far', phaseMs: 24 });
  });

  it('does not call a queue quiet that moves once a second, whatever the option says', () => {
    expect(wakeupModeFor([standing(1, 900)], 0, NOW_MS)).toEqual({ type: 'near', untilMs: NOW_MS + 100 });
    expect(wakeupModeFor([standing(1, 1_000)], 0, NOW_MS)).toMatchObject({ type: 'far' });
  });
});

describe('the reads of a queue', () => {
  it.each([2, 10, 125, 126, 500, 10_000])('of %i go from its head to its end within a second', (waiters) => {
    const phasesMs = Array.from({ length: waiters - 1 }, (_, behind) => {
      const attention = decide(standing(behind + 1, 60_000, waiters));
      return attention?.type === 'far' ? attention.phaseMs : NaN;
    });
    expect(phasesMs).toEqual([...phasesMs].sort((a, b) => a - b));
    expect(new Set(phasesMs).size).toBe(waiters - 1);
    expect(phasesMs.at(-1)).toBeLessThan(1_000);
  });

  it('come once a second, by the clock of the server, though that is only estimated', () => {
    let nowMs = 5_000;
    let lastMs = -Infinity;
    const reads: number[] = [];
    for (let i = 0; i < 100; i += 1) {
      // The estimate is up to five milliseconds off, another time by another amount.
      const serverMs = nowMs + 123 + ((i * 7) % 11) - 5;
      nowMs += untilReadMs(40, serverMs, nowMs - lastMs);
      lastMs = nowMs;
      reads.push(nowMs);
    }
    reads.forEach((atMs, i) => {
      expect(Math.abs(atMs - (5_917 + 1_000 * i))).toBeLessThanOrEqual(5);
    });
  });

  it('are never less than half a second apart, though the place in the sweep moves', () => {
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

  /** One who waited at this place when the queue began to move. */
  interface Waiter {
    readonly place: number;
    readonly waiters: number;
    /** By how much it takes the server's clock to be ahead. */
    readonly skewMs: number;
  }

  /** When a waiter hears of its grant, the last of these: they are in the order of the queue, from its head. */
  function hearsAtMs({ place: from, waiters, skewMs }: Waiter, grantsMs: readonly number[]): number {
    const grantedMs = grantsMs[from] ?? NaN;
    let nowMs = grantsMs[0] ?? NaN;
    let readMs = -Infinity;
    let isListening = false;
    let known: QueuePosition = { place: from, waiters, movedAtMs: nowMs - 60_000 };
    for (;;) {
      const attention = decideAt(nowMs, known);
      if (attention.type === 'near') {
        // It listens, and what came before is found when the stream is open.
        if (grantedMs <= attention.untilMs) return Math.max(grantedMs, nowMs + OPENING_MS);
        nowMs = attention.untilMs;
        isListening = true;
        continue;
      }
      // It goes on listening until a read has shown it to be far.
      if (readMs === nowMs) isListening = false;
      nowMs += untilReadMs(attention.phaseMs, nowMs + skewMs, nowMs - readMs);
      readMs = nowMs;
      if (nowMs >= grantedMs) return isListening ? grantedMs : nowMs;
      const place = from - grantsMs.filter((atMs) => atMs <= nowMs).length;
      if (place < known.place) known = { place, waiters, movedAtMs: nowMs };
    }
  }

  function decideAt(nowMs: number, known: QueuePosition) {
    const attention = wakeupModeFor([known], IDLE_MS, nowMs);
    if (attention === undefined) throw new Error('somebody waits');
    return attention;
  }

  /** How long each hand-over takes. The head listens, the others are far. */
  function handOversMs(
    waiters: number,
    holdMs: (place: number) => number,
    startMs: number,
    skewMs: number,
  ): readonly number[] {
    const grantsMs = [startMs];
    let heardMs = startMs;
    return Array.from({ length: waiters - 1 }, (_, before) => {
      const place = before + 1;
      const releasedMs = heardMs + holdMs(before);
      grantsMs.push(releasedMs + HANDED_MS);
      heardMs = hearsAtMs({ place, waiters, skewMs: ((place * 37) % 7) * (skewMs / 7) }, grantsMs);
      return heardMs - releasedMs;
    });
  }

  function expectSlow(tookMs: readonly number[], atMost: number): void {
    expect(Math.max(...tookMs)).toBeLessThanOrEqual(1_000 + HANDED_MS);
    expect(tookMs.filter((ms) => ms > 100).length).toBeLessThanOrEqual(atMost);
  }

  it.each([0, 5, 50, 300])(
    'has one slow hand-over at most, whenever that is and however long it is, with holds of %i ms',
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
    'has one at most though the first twenty hold it for %i ms, and the others for five',
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
