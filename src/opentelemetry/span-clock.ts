import type { HrTime } from '@opentelemetry/api';
import { momentNow } from '../clock.js';
import type { Clock } from '../clock.js';

/**
 * The wall clock at the start of a request, and monotonic time from then on: the order of its times is right even if the
 * wall clock is set meanwhile.
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
