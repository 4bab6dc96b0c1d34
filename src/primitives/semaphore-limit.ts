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

/** The answer of the store to a resize. */
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

/**
 * What one semaphore object knows of the limit: the given one before the first contact with the store, and the stored
 * one since then.
 */
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

  /**
   * What a request says about the limit. Before the first contact it gives the limit of this object, to be used as
   * `whenLimitDiffers` says.
   */
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
    // Keep rejecting until the stored limit matches.
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
    // The handshake only asks which server this is, so nothing was changed.
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
      throw new StoreUnavailableError(this.#name, true, new Error('the request reached the server too late'));
    // Otherwise the limit was set, although the reply may show the limit of another resize that came right after it.
  }

  #unavailable(outcome: Exclude<Outcome<unknown>, { type: 'done' }>): StoreUnavailableError {
    return new StoreUnavailableError(this.#name, isKnown(outcome), outcome.error);
  }

  /**
   * Repeats the same request, with the same not-after, until it is answered or cannot take effect any more. A request
   * that reached the server after its not-after did nothing, and its copies never will. So the next request has a new
   * not-after: after a suspension the estimate of the server's clock is behind, and the late answer has corrected it.
   *
   * After an answer, the method waits until no unanswered copy can arrive: a copy would undo the caller's next resize.
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

  /** Takes over an idle lock of another kind. */
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
