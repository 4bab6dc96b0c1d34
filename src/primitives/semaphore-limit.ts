import { sleepUntil } from '../clock.js';
import { CorruptLockDocumentError, LockKindMismatchError, ProviderClosedError } from '../errors.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { UnansweredCopies } from '../store/unanswered-copies.js';
import type { WhenLimitDiffers } from '../options/request-options.js';
import type { Demand } from '../protocol/operation.js';
import type { Reply } from '../protocol/replies/reply.js';
import { semaphoreRules } from '../protocol/kinds/semaphore-rules.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { isKnown } from '../store/outcome.js';
import type { Outcome } from '../store/outcome.js';
import { isAnswered, reachedTooLate, settle } from '../store/settle.js';
import { unavailable } from '../store/unavailable.js';
import type { Answer } from '../store/updates/combiner.js';

const cameTooLate = (reply: Reply | null, limit: number, notAfter: Date): boolean =>
  reply !== null &&
  reply.isWellFormed &&
  reply.kind === 'semaphore' &&
  reply.limit !== limit &&
  reply.nowMs > notAfter.getTime();

/**
 * What one semaphore object knows of the limit: the limit that the caller gave last, until an answer of the store
 * shows the stored limit, and then the stored limit.
 */
export class SemaphoreLimit {
  readonly #context: LeaseContext;
  readonly #name: string;
  readonly #whenLimitDiffers: WhenLimitDiffers;
  #given: number;
  #known: number;
  #knowsStoredLimit = false;

  constructor(context: LeaseContext, name: string, limit: number, whenLimitDiffers: WhenLimitDiffers) {
    this.#context = context;
    this.#name = name;
    this.#given = limit;
    this.#known = limit;
    this.#whenLimitDiffers = whenLimitDiffers;
  }

  get known(): number {
    return this.#known;
  }

  /**
   * What a request says about the limit. While `#knowsStoredLimit` is false, a request carries the limit that the
   * caller gave, and `whenLimitDiffers` decides how the server uses that limit. While `#knowsStoredLimit` is true,
   * requests carry the stored limit, because they may have to create a missing document again.
   */
  demand(permits: number): Demand {
    if (this.#knowsStoredLimit) return { permits, limit: this.#known };
    return {
      permits,
      limit: this.#given,
      mustMatch: this.#whenLimitDiffers === 'throw',
      setsLimit: this.#whenLimitDiffers === 'resize',
    };
  }

  note({ isWellFormed, limit }: Reply): void {
    if (!isWellFormed || limit === undefined) return;
    this.#known = limit;
    // With `throw`, each request carries the limit that the caller gave, until the stored limit equals that limit.
    if (this.#whenLimitDiffers !== 'throw' || limit === this.#given) this.#knowsStoredLimit = true;
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
    // The handshake asks only about the server and the collection, so nothing was changed.
    if (met.type !== 'done') throw unavailable(this.#name, true, met.error);
    const outcome = await this.#sendResize(limit);
    if (outcome.type !== 'done') throw unavailable(this.#name, isKnown(outcome), outcome.error);
    const { reply } = outcome.value;
    if (reply !== null) this.#throwUnlessResized(reply);
    this.#given = this.#known = limit;
    this.#knowsStoredLimit = reply !== null;
  }

  #throwUnlessResized({ isWellFormed, kind }: Reply): void {
    if (!isWellFormed) throw new CorruptLockDocumentError(this.#name);
    if (kind !== 'semaphore') throw new LockKindMismatchError(this.#name, 'semaphore', kind);
    // The document is a well-formed semaphore, so this resize has set the limit. The reply may still show another
    // limit, if the same update contained a later resize.
  }

  /**
   * Sends the resize, and repeats it with the same not-after while there is no answer. If the answer says that a copy
   * came after its not-after, the next copy has a new not-after. This happens if a copy is delayed, or after a
   * suspension: the estimate of the server's clock was behind, and the answer has corrected the estimate.
   *
   * Once the resize is done, the method waits until no unanswered copy can take effect, because a late copy would undo
   * the caller's next resize.
   */
  async #sendResize(limit: number): Promise<Outcome<Answer>> {
    const { clock, collection, settings } = this.#context;
    const { serverClock } = collection;
    const copies = new UnansweredCopies(serverClock);
    let notAfter: Date | undefined;
    const send = async (): Promise<Outcome<Answer>> => {
      const sentNotAfter = (notAfter ??= new Date(serverClock.nowMs() + settings.storeTimeoutMs));
      copies.sent(() => sentNotAfter);
      const outcome = await this.#submit(limit, sentNotAfter);
      copies.copyEnded(!isKnown(outcome));
      const isLate = outcome.type === 'done' && cameTooLate(outcome.value.reply, limit, sentNotAfter);
      if (!isLate) return outcome;
      notAfter = undefined;
      return { type: 'unknown', error: reachedTooLate(), maybeApplied: false };
    };
    const untilMs = clock.nowMs() + settings.storeTimeoutMs;
    const outcome = await settle(send, { clock, isSettled: isAnswered, untilMs });
    if (!copies.mayArrive) return outcome;
    // The server may have applied an earlier copy that was not answered.
    if (outcome.type !== 'done') return { type: 'unknown', error: outcome.error, maybeApplied: true };
    await sleepUntil(clock, copies.overAtMs);
    return outcome;
  }

  /** Sends the resize. If the name has an idle lock of another kind, takes that lock over. */
  async #submit(limit: number, notAfter: Date): Promise<Outcome<Answer>> {
    const { combiner } = this.#context;
    const operation = { type: 'resize', limit, notAfter } as const;
    const outcome = await combiner.submit(this.#name, semaphoreRules, operation).outcome;
    if (outcome.type !== 'done') return outcome;
    const { reply } = outcome.value;
    if (reply === null || reply.kind === 'semaphore') return outcome;
    return await combiner.submit(this.#name, semaphoreRules, operation, { takingOver: true }).outcome;
  }
}
