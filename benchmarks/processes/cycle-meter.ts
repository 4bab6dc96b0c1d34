export interface CrowdSpan {
  /** How many callers take locks at once. */
  readonly atOnce: number;
  /** The measurement lasts at least this long. */
  readonly forMs: number;
}

/** A cycle that has begun. */
interface Begun {
  readonly atMs: number;
  /** True if it began during the measurement. */
  readonly isMeasured: boolean;
}

/**
 * Counts the cycles of callers that begin together, so that each ends one cycle before any ends its second, more or less.
 * The measurement begins after the first such turn of all callers, and ends after a whole number of turns. Otherwise the
 * figures of slow turns would depend on the number that ends just before the time is over. The callers go on until every
 * cycle that began during the measurement has ended, so that none of them runs in a smaller crowd than the others.
 */
export class CycleMeter {
  /** The cycles that ended during the measurement. */
  count = 0;
  /** The times of the cycles that began during the measurement. */
  readonly tookMs: number[] = [];
  readonly #span: CrowdSpan;
  readonly #onBegin: () => void;
  readonly #onEnd: () => void;
  #before = 0;
  /** How many cycles began during the measurement. */
  #measured = 0;
  #beganMs = Infinity;
  #endedMs = Infinity;

  constructor(span: CrowdSpan, onBegin: () => void, onEnd: () => void) {
    this.#span = span;
    this.#onBegin = onBegin;
    this.#onEnd = onEnd;
  }

  /** True if the callers may stop. */
  get isOver(): boolean {
    return this.#hasEnded && this.tookMs.length === this.#measured;
  }

  get #hasEnded(): boolean {
    return this.#endedMs !== Infinity;
  }

  get ms(): number {
    return this.#endedMs - this.#beganMs;
  }

  /** Told of every cycle at its start. */
  started(nowMs: number): Begun {
    const isMeasured = this.#beganMs !== Infinity && !this.#hasEnded;
    if (isMeasured) this.#measured += 1;
    return { atMs: nowMs, isMeasured };
  }

  /** Told of every cycle at its end. */
  ended({ atMs, isMeasured }: Begun, nowMs: number): void {
    if (isMeasured) this.tookMs.push(nowMs - atMs);
    const { atOnce, forMs } = this.#span;
    if (this.#hasEnded) return;
    if (this.#beganMs === Infinity) {
      this.#before += 1;
      if (this.#before < atOnce) return;
      this.#beganMs = nowMs;
      this.#onBegin();
      return;
    }
    this.count += 1;
    if (nowMs < this.#beganMs + forMs || this.count % atOnce !== 0) return;
    this.#endedMs = nowMs;
    this.#onEnd();
  }
}
