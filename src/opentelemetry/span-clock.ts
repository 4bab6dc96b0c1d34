import type { HrTime } from '@opentelemetry/api';
import type { Clock } from '../clock.js';

/**
 * The clock of one request, term or run. It takes the offset of the wall clock once, at the start, and adds monotonic
 * time from then on. So its times are in the right order even if the wall clock is set meanwhile.
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

/** How far an offset may be from a new reading, in ms. Beyond that, the system clock was set. */
const TOLERANCE_MS = 2;

/** How far the wall clock of each process is ahead of its monotonic clock, in ms. */
const offsets = new WeakMap<Clock, number>();

/**
 * One offset for all spans of a process. The wall clock shows whole ms, so with an offset of its own each span would be
 * up to 1 ms off, and spans of holds that follow each other would overlap. The offset is read again only if the system
 * clock was set.
 */
function wallAheadOf(clock: Clock): number {
  const beforeMs = clock.nowMs();
  const wallMs = clock.wallMs();
  // The process may be held up between two readings, so a reading gives a range.
  const [leastMs, mostMs] = [wallMs - clock.nowMs(), wallMs - beforeMs];
  const known = offsets.get(clock);
  if (known !== undefined && known >= leastMs - TOLERANCE_MS && known <= mostMs + TOLERANCE_MS) return known;
  // If the least is too small, a later correction leaves a gap between spans. The most would make them overlap.
  offsets.set(clock, leastMs);
  return leastMs;
}
