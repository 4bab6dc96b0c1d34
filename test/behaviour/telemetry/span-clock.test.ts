import { describe, expect, it } from 'vitest';

import { systemClock } from '../../../src/clock.js';
import type { Clock } from '../../../src/clock.js';
import { SpanClock } from '../../../src/opentelemetry/span-clock.js';
import { toSeconds } from './recorder.js';

/** A machine: its monotonic time, and a system clock that shows whole ms and that somebody may set. */
class Machine {
  readonly clock: Clock = {
    ...systemClock,
    nowMs: () => this.#ms,
    wallMs: () => {
      this.#ms += this.readTakesMs;
      return Math.floor(this.#ms + this.aheadMs);
    },
  };
  aheadMs = 1_790_000_000_000.4;
  readTakesMs = 0;
  #ms = 100;

  pass(ms: number): void {
    this.#ms += ms;
  }
}

describe('the clocks of the spans of one process', () => {
  it('agree, although the system clock shows whole ms only', () => {
    const machine = new Machine();
    for (let turn = 0; turn < 100; turn += 1) {
      const ending = new SpanClock(machine.clock);
      machine.pass(0.3);
      const end = ending.now();
      expect(new SpanClock(machine.clock).now()).toEqual(end);
    }
  });

  it('of the real process, agree', () => {
    for (let turn = 0; turn < 1_000; turn += 1) {
      const end = new SpanClock(systemClock).now();
      expect(toSeconds(new SpanClock(systemClock).now())).toBeGreaterThanOrEqual(toSeconds(end));
    }
  });

  it('agree if the process is held up while it reads the system clock', () => {
    const machine = new Machine();
    const first = new SpanClock(machine.clock);
    machine.readTakesMs = 40;
    const second = new SpanClock(machine.clock);
    machine.readTakesMs = 0;
    const third = new SpanClock(machine.clock);
    expect(second.now()).toEqual(first.now());
    expect(third.now()).toEqual(first.now());
  });

  it('follow a system clock that was set, except in spans that have begun', () => {
    const machine = new Machine();
    const begun = new SpanClock(machine.clock);
    const before = toSeconds(begun.now());
    machine.aheadMs -= 60_000;
    expect(toSeconds(new SpanClock(machine.clock).now())).toBeCloseTo(before - 60, 2);
    expect(toSeconds(begun.now())).toBe(before);
  });
});
