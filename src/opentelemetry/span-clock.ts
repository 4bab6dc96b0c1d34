import type { HrTime } from '@opentelemetry/api';
import { momentNow } from '../clock.js';
import type { Clock } from '../clock.js';

/**
 * The clock of one request, term or run. It reads the wall clock once, at the start, and adds monotonic time from then
 * on. So its times are in the right order even if the wall clock is set meanwhile.
 */
export class SpanClock {
  readonly #clock: Clock;
  readonly #wallAheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    ({ wallAheadMs: this.#wallAheadMs } = momentNow(clock));
  }

  now(): HrTime {
    const wallMs = this.#clock.nowMs() + this.#wallAheadMs;
    const seconds = Math.floor(wallMs / 1_000);
    return [seconds, Math.min(999_999_999, Math.round((wallMs - seconds * 1_000) * 1_000_000))];
  }
}
