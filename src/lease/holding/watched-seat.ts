import type { Due } from './due-queue.js';
import type { Confirmation } from './lease-extender.js';
import type { Seat } from './seat.js';

export const LOST: Confirmation = { type: 'lost' };

const MIN_RETRY_MS = 20;
const MAX_RETRY_MS = 500;

/**
 * One answer for all callers that have asked about a seat since its last batch was sent. The next batch with the seat
 * gives the answer. If the seat ends before that batch is sent, the answer is `LOST`.
 */
export interface PendingAnswer {
  readonly answered: Promise<Confirmation>;
  answer(confirmation: Confirmation): void;
}

export interface EndedBatch {
  readonly size: number;
  /** Whether the batch was refused or used up its time; a smaller batch may then succeed. */
  readonly isTooLarge: boolean;
}

/**
 * One seat that the lease monitor watches: when it is due, in how large a batch, and the callers that asked about it.
 */
export class WatchedSeat implements Due {
  readonly seat: Seat;
  dueMs: number;
  index = -1;
  /** Whether `confirm` or `confirmAll` has asked for this seat since the last batch with it was sent. */
  isToConfirm = false;
  #pendingAnswer: PendingAnswer | undefined;
  #batchSize = Infinity;

  constructor(seat: Seat) {
    this.seat = seat;
    this.dueMs = this.#nextExtensionMs();
  }

  /**
   * The most leases in a batch that begins with this seat; `Infinity` if this seat sets no bound. After a batch that
   * was refused, or used up its time without an answer, the bound is half the size of that batch, so that one bad
   * document costs the others little.
   */
  get batchSize(): number {
    return this.#batchSize;
  }

  /** Resolves when the next batch with this seat has ended, or when the seat is over. */
  nextAnswer(): Promise<Confirmation> {
    this.#pendingAnswer ??= newPendingAnswer();
    return this.#pendingAnswer.answered;
  }

  /**
   * Called when a batch with this seat is sent. Returns the answer that the batch must give, if a caller has asked for
   * one.
   */
  sent(): PendingAnswer | undefined {
    const pendingAnswer = this.#pendingAnswer;
    this.#pendingAnswer = undefined;
    this.isToConfirm = false;
    return pendingAnswer;
  }

  end(): void {
    this.#pendingAnswer?.answer(LOST);
  }

  dueAfter({ type }: Confirmation, { size, isTooLarge }: EndedBatch): number {
    const { clock } = this.seat;
    const nowMs = clock.nowMs();
    const { extendEveryMs } = this.seat.grant.durations;
    if (type === 'unknown') {
      // Only a batch that was too large gets smaller. Other failures do not depend on the size.
      if (isTooLarge) this.#batchSize = Math.ceil(size / 2);
      const pauseMs = Math.max(MIN_RETRY_MS, Math.min(extendEveryMs / 8, MAX_RETRY_MS));
      return nowMs + pauseMs * (0.5 + clock.chance.number() / 2);
    }
    this.#batchSize = Infinity;
    // The deadline of a revoked lease does not move, so without this minimum the seat would be due again at once.
    return Math.max(this.#nextExtensionMs(), nowMs + extendEveryMs / 2);
  }

  /** `extendEveryMs` after the instant at which the lease last had its full length, but not before now. */
  #nextExtensionMs(): number {
    const { clock, deadlineMs, grant } = this.seat;
    const { leaseMs, clockAllowanceMs, extendEveryMs } = grant.durations;
    const confirmedMs = deadlineMs + clockAllowanceMs - leaseMs;
    return Math.max(confirmedMs + extendEveryMs, clock.nowMs());
  }
}

function newPendingAnswer(): PendingAnswer {
  let answer!: PendingAnswer['answer'];
  const answered = new Promise<Confirmation>((resolve) => {
    answer = resolve;
  });
  return { answered, answer };
}
