import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { AcquireOptions } from '../options/request-options.js';
import type { Part } from './lock-request.js';
import type { Requester, Unclaimed } from './requester.js';

type End = { readonly grant: Unclaimed<LockHandle> } | { readonly error: unknown };

export interface EarlyTry {
  readonly part: Part;
  readonly ended: Promise<End>;
  /** `undefined` until the try has ended. */
  readonly end: End | undefined;
}

/**
 * The tries of several locks, all sent in one turn of the event loop. A try never waits for another holder, so callers
 * with tries of the same locks do not wait for each other.
 */
export class EarlyTries {
  readonly #requester: Requester;
  readonly #parts: readonly Part[];
  readonly #options: AcquireOptions | undefined;
  /**
   * Ends the tries that have no answer yet. The caller's signal does not end them: after an abort, the call waits for
   * their answers and gives back each granted lock.
   */
  readonly #controller = new AbortController();
  #tries: readonly EarlyTry[] = [];
  #keptCount = 0;
  #givenBack: Promise<unknown> | undefined;

  constructor(requester: Requester, parts: readonly Part[], options: AcquireOptions | undefined) {
    this.#requester = requester;
    this.#parts = parts;
    this.#options = { ...options, signal: this.#controller.signal };
  }

  /** Whether `giveBack` was called. After that call, no further lock can be kept. */
  get areGivenUp(): boolean {
    return this.#givenBack !== undefined;
  }

  /** Sends the tries in the order of the parts, unless `giveBack` was called before. */
  send(): void {
    if (!this.areGivenUp) this.#tries = this.#parts.map((part) => this.#send(part));
  }

  async ended(): Promise<void> {
    await Promise.all(this.#tries.map(({ ended }) => ended));
  }

  /** The first try, in the order of the parts, whose lock is not held; `undefined` if there is none. */
  get firstNotGranted(): EarlyTry | undefined {
    return this.#tries.find(({ end }) => !isGranted(end));
  }

  /**
   * Reports the locks before `firstNotGranted` as acquired and returns their handles. Gives all other locks back in
   * the background.
   */
  keep(): readonly { readonly part: Part; readonly handle: LockHandle }[] {
    const kept = [];
    for (const { part, end } of this.#tries) {
      if (!isGranted(end)) break;
      kept.push({ part, handle: end.grant.claim() });
    }
    this.#keptCount = kept.length;
    void this.giveBack();
    return kept;
  }

  /**
   * Gives back every lock that `keep` has not returned, even a lock that is granted later. Resolves when all of them
   * are given back.
   */
  giveBack(): Promise<unknown> {
    const others = this.#tries.slice(this.#keptCount);
    this.#givenBack ??= Promise.all(others.map(({ ended }) => release(ended)));
    return this.#givenBack;
  }

  /** Ends the tries that have no answer. If such a try is granted a seat, the seat is given back in the background. */
  end(): void {
    this.#controller.abort();
  }

  #send(part: Part): EarlyTry {
    let end: End | undefined;
    const ended = this.#try(part).then((its) => (end = its));
    return {
      part,
      ended,
      get end() {
        return end;
      },
    };
  }

  async #try(part: Part): Promise<End> {
    try {
      return { grant: await this.#requester.tryUnclaimed(part.target(), this.#options) };
    } catch (error) {
      return { error };
    }
  }
}

const isGranted = (end: End | undefined): end is Extract<End, { readonly grant: unknown }> =>
  end !== undefined && 'grant' in end && end.grant.isHeld;

async function release(ended: Promise<End>): Promise<void> {
  const end = await ended;
  if (isGranted(end)) await end.grant.claim().release();
}
