import type { HrTime } from '@opentelemetry/api';

/**
 * The wall clock at the start of a request, and monotonic time from then on: the order of its times is right even if the
 * wall clock is set meanwhile.
 */
export class SpanClock {
  readonly #wallMs = Date.now();
  readonly #monotonicMs = performance.now();

  now(): HrTime {
    const sinceMs = performance.now() - this.#monotonicMs;
    const wallNs = (this.#wallMs % 1_000) * 1_000_000 + Math.round(sinceMs * 1_000_000);
    const seconds = Math.floor(wallNs / 1_000_000_000);
    return [Math.floor(this.#wallMs / 1_000) + seconds, wallNs - seconds * 1_000_000_000];
  }
}
