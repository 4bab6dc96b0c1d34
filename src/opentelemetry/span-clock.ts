import type { HrTime } from '@opentelemetry/api';
import type { Clock } from '../clock.js';

/**
 * The clock of the spans of one request, term or run. The offset between the wall clock and the monotonic clock is
 * fixed at the start, and each time is the monotonic time plus this offset. So the times are in the right order even if
 * the wall clock is set meanwhile.
 */
export class SpanClock {
  readonly #clock: Clock;
  readonly #wallAheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallAheadMs = wallAheadOf(clock);
  }

  now(): HrTime {
    const wallMs = this.#clock.nowMs() + this.#wallAheadMs;
    const seconds = Math.floor(wallMs / 1_000);
    return [seconds, Math.min(999_999_999, Math.round((wallMs - seconds * 1_000) * 1_000_000))];
  }
}

/**
 * How far the stored offset may be from a new reading, in ms. If it is further away, the two clocks have moved apart,
 * for example because the system clock was set or the process was suspended.
 */
const TOLERANCE_MS = 2;

/** How far the wall clock of each process is ahead of its monotonic clock, in ms. */
const offsets = new WeakMap<Clock, number>();

/**
 * One offset for all spans of a process. The wall clock shows whole ms, so with an offset of its own each span would be
 * up to 1 ms off, and spans of holds that follow each other would overlap. The stored offset is replaced only if a new
 * reading shows that the two clocks have moved apart.
 */
function wallAheadOf(clock: Clock): number {
  const beforeMs = clock.nowMs();
  const wallMs = clock.wallMs();
  // The process may be held up between two readings of the clocks, so the offset is known only as a range.
  const [leastMs, mostMs] = [wallMs - clock.nowMs(), wallMs - beforeMs];
  const known = offsets.get(clock);
  if (known !== undefined && known >= leastMs - TOLERANCE_MS && known <= mostMs + TOLERANCE_MS) return known;
  // The least offset may be too small. Its later correction moves spans forward and only leaves a gap between two
  // spans. The most may be too large, and its correction would move spans back, so that two spans would overlap.
  offsets.set(clock, leastMs);
  return leastMs;
}
