import { pauseBeforeRepeat, sleepUntil } from '../clock.js';
import {
  CorruptLockDocumentError,
  LockKindMismatchError,
  ProviderClosedError,
  StoreUnavailableError,
} from '../errors.js';
import type { AcquisitionContext } from '../lease/acquiring/acquisition-context.js';
import { UnansweredCopies } from '../store/unanswered-copies.js';
import type { WhenLimitDiffers } from '../options/request-options.js';
import type { Demand } from '../protocol/operation.js';
import type { Reply } from '../protocol/replies/reply.js';
import { semaphoreSeats } from '../protocol/kinds/semaphore-seats.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { isKnown } from '../store/outcome.js';
import type { Outcome } from '../store/outcome.js';
import type { Answer } from '../store/updates/combiner.js';

/** What the store has answered to a resize. */
interface Resized {
  /** `null`: nothing is stored under this name. */
  readonly reply: Reply | null;
  readonly isLate: boolean;
}

const cameTooLate = (reply: Reply | null, limit: number, notAfter: Date): boolean =>
  reply !== null &&
  reply.sound &&
  reply.kind === 'semaphore' &&
  reply.limit !== limit &&
  reply.nowMs > notAfter.getTime();

/** What one semaphore object knows of the limit: as it was given, until it has met what is stored, and that since. */
export class SemaphoreLimit {
  readonly #context: AcquisitionContext;
  readonly #name: string;
  readonly #whenLimitDiffers: WhenLimitDiffers;
  #given: number;
  #known: number;
  #hasMet = false;

  constructor(context: AcquisitionContext, name: string, limit: number, whenLimitDiffers: WhenLimitDiffers) {
    this.#context = context;
    this.#name = name;
    this.#given = limit;
    this.#known = limit;
    this.#whenLimitDiffers = whenLimitDiffers;
  }

  /** The stored limit as it was last seen. */
  get known(): number {
    return this.#known;
  }

  /** What a request says of the limit: until the first contact what was given counts, as far as it was asked to. */
  demand(permits: number): Demand {
    if (this.#hasMet) return { permits, limit: this.#known };
    return {
      permits,
      limit: this.#given,
      mustMatch: this.#whenLimitDiffers === 'throw',
      setsLimit: this.#whenLimitDiffers === 'resize',
    };
  }

  note({ sound, limit }: Reply): void {
    if (!sound || limit === undefined) return;
    this.#known = limit;
    // A mismatch goes on being one until it is mended.
    if (this.#whenLimitDiffers !== 'throw' || limit === this.#given) this.#hasMet = true;
  }

  availableIn(snapshot: LockSnapshot | null): number {
    if (snapshot === null) return this.#known;
    const { kind, limit = this.#known, holders, waiters } = snapshot;
    if (kind === 'semaphore') {
      const held = holders.reduce((sum, { permits = 0 }) => sum + permits, 0);
      return Math.max(0, limit - held);
    }
    if (holders.length + waiters.length > 0) throw new LockKindMismatchError(this.#name, 'semaphore', kind);
    return this.#known;
  }

  async resize(limit: number): Promise<void> {
    const { collection, closing } = this.#context;
    if (closing.aborted) throw new ProviderClosedError(this.#name);
    const met = await collection.handshake();
    // The question of what server this is changes nothing.
    if (met.type !== 'done') throw new StoreUnavailableError(this.#name, true, met.error);
    const outcome = await this.#sendResize(limit);
    if (outcome.type !== 'done') throw this.#unavailable(outcome);
    const { reply, isLate } = outcome.value;
    if (reply !== null) this.#throwUnlessResized(reply, isLate);
    this.#given = this.#known = limit;
    this.#hasMet = reply !== null;
  }

  #throwUnlessResized({ sound, kind }: Reply, isLate: boolean): void {
    if (!sound) throw new CorruptLockDocumentError(this.#name);
    if (kind !== 'semaphore') throw new LockKindMismatchError(this.#name, 'semaphore', kind);
    if (isLate)
      throw new StoreUnavailableError(this.#name, true, new Error('it reached the server too late'));
    // Otherwise the limit was set, though the reply may show that of another resize which came right after it.
  }

  #unavailable(outcome: Exclude<Outcome<unknown>, { type: 'done' }>): StoreUnavailableError {
    return new StoreUnavailableError(this.#name, isKnown(outcome), outcome.error);
  }

  /**
   * Repeats the same request, its not-after included, until it is answered or can have no effect any more. A request that
   * reached the server too late did nothing and its copies never will, so the next one has a new not-after: after a
   * suspension the estimate of the server's clock is behind, and that answer has corrected it.
   *
   * After an answer it waits for the end of the copies that have none: one of them would undo the caller's next resize.
   */
  async #sendResize(limit: number): Promise<Outcome<Resized>> {
    const { clock, collection, settings } = this.#context;
    const endMs = clock.nowMs() + settings.storeTimeoutMs;
    const copies = new UnansweredCopies(collection.serverClock);
    let notAfter: Date | undefined;
    for (let repeats = 0; ; repeats += 1) {
      notAfter ??= new Date(collection.serverClock.nowMs() + settings.storeTimeoutMs);
      const sentNotAfter = notAfter;
      copies.sent(() => sentNotAfter);
      const outcome = await this.#submit(limit, notAfter);
      copies.settled(!isKnown(outcome));
      const isLate = outcome.type === 'done' && cameTooLate(outcome.value.reply, limit, notAfter);
      const isSettled = outcome.type !== 'unknown' && !isLate;
      if (isSettled || clock.nowMs() >= endMs) {
        if (outcome.type === 'done' && copies.mayArrive) await sleepUntil(clock, copies.overAtMs);
        return outcome.type === 'done'
          ? { ...outcome, value: { reply: outcome.value.reply, isLate } }
          : outcome;
      }
      if (isLate) notAfter = undefined;
      await pauseBeforeRepeat(clock, repeats);
    }
  }

  /** An idle lock of another kind is taken over. */
  async #submit(limit: number, notAfter: Date): Promise<Outcome<Answer>> {
    const { combiner } = this.#context;
    const operation = { type: 'resize', limit, notAfter } as const;
    const outcome = await combiner.submit(this.#name, semaphoreSeats, operation).outcome;
    if (outcome.type !== 'done') return outcome;
    const { reply } = outcome.value;
    if (reply === null || reply.kind === 'semaphore') return outcome;
    return await combiner.submit(this.#name, semaphoreSeats, operation, { takingOver: true }).outcome;
  }
}
