import { sleepUntil } from '../clock.js';
import {
  CorruptLockDocumentError,
  LockKindMismatchError,
  ProviderClosedError,
  StoreUnavailableError,
} from '../errors.js';
import type { AcquisitionContext } from '../lease/attempt.js';
import type { WhenLimitDiffers } from '../options/request-options.js';
import type { Demand } from '../protocol/operation.js';
import type { Reply } from '../protocol/reply.js';
import { semaphoreSeats } from '../protocol/semaphore-seats.js';
import type { LockSnapshot } from '../protocol/snapshot.js';
import type { Outcome } from '../store/outcome.js';
import type { Answer } from '../store/combiner.js';

const REPEAT_MS = 100;

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
    const { collection, settings, closing } = this.#context;
    if (closing.aborted) throw new ProviderClosedError(this.#name);
    const met = await collection.meet();
    if (met.type !== 'done') throw this.#unavailable(met);
    const notAfterMs = collection.serverClock.nowMs() + settings.storeTimeoutMs;
    const outcome = await this.#sendResize(limit, new Date(notAfterMs));
    if (outcome.type !== 'done') throw this.#unavailable(outcome);
    const { reply } = outcome.value;
    if (reply !== null) await this.#throwUnlessResized(reply, limit, notAfterMs);
    this.#given = this.#known = limit;
    this.#hasMet = reply !== null;
  }

  async #throwUnlessResized(reply: Reply, limit: number, notAfterMs: number): Promise<void> {
    const { sound, kind, nowMs } = reply;
    if (!sound) throw new CorruptLockDocumentError(this.#name);
    if (kind !== 'semaphore') throw new LockKindMismatchError(this.#name, 'semaphore', kind);
    if (reply.limit === limit) return;
    if (nowMs > notAfterMs) throw new StoreUnavailableError(this.#name, true, new Error('answered too late'));
    // Another resize came right after it, unless the document is illegal where a reply does not look.
    const legal = await this.#context.collection.isLegal(this.#name, semaphoreSeats);
    if (legal.type === 'done' && !legal.value) throw new CorruptLockDocumentError(this.#name);
  }

  #unavailable(outcome: Exclude<Outcome<unknown>, { type: 'done' }>): StoreUnavailableError {
    const outcomeKnown = outcome.type === 'refused' || !outcome.maybeApplied;
    return new StoreUnavailableError(this.#name, outcomeKnown, outcome.error);
  }

  /** Repeats the same request, its not-after included, until it is answered or can have no effect any more. */
  async #sendResize(limit: number, notAfter: Date): Promise<Outcome<Answer>> {
    const { clock, settings } = this.#context;
    const endMs = clock.nowMs() + settings.storeTimeoutMs;
    for (;;) {
      const outcome = await this.#submit(limit, notAfter);
      const nextMs = clock.nowMs() + REPEAT_MS;
      if (outcome.type !== 'unknown' || nextMs >= endMs) return outcome;
      await sleepUntil(clock, nextMs);
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
    return await combiner.submit(this.#name, semaphoreSeats, operation, { adopting: true }).outcome;
  }
}
