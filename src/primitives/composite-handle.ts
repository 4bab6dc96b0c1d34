import type { Hold, LockHandle } from '../lease/lock-handle.js';
import type { PermitHandle } from '../lease/permit-handle.js';
import type { ReaderWriterHandle } from '../lease/reader-writer-handle.js';
import type { LockRequest, PermitRequest, UpgradeableReadRequest, WriteRequest } from './all-or-nothing.js';

/** The handle that a request for one lock gives. */
export type HandleFor<R extends LockRequest> = R extends PermitRequest
  ? PermitHandle
  : R extends WriteRequest | UpgradeableReadRequest
    ? ReaderWriterHandle
    : LockHandle;

/**
 * Several locks held as one: lost when any of them is, released in the reverse order of their acquiring. A loss releases
 * nothing: what is left is held until `release`.
 */
export interface CompositeHandle<R extends readonly LockRequest[]> extends Hold {
  /** The handle of each request, in the order of the requests. */
  readonly handles: { readonly [I in keyof R]: HandleFor<R[I]> };
}

/** @internal */
export class CompositeLeaseHandle<R extends readonly LockRequest[]> implements CompositeHandle<R> {
  readonly handles: CompositeHandle<R>['handles'];
  readonly #taken: readonly LockHandle[];
  #signal: AbortSignal | undefined;
  #releaseRequested: AbortSignal | undefined;
  #released: Promise<boolean> | undefined;

  /** @param taken - The handles in the order in which they were acquired. */
  constructor(handles: CompositeHandle<R>['handles'], taken: readonly LockHandle[]) {
    this.handles = handles;
    this.#taken = taken;
  }

  get signal(): AbortSignal {
    this.#signal ??= firstOf(this.#taken.map(({ signal }) => signal));
    return this.#signal;
  }

  get releaseRequested(): AbortSignal {
    this.#releaseRequested ??= firstOf(this.#taken.map(({ releaseRequested }) => releaseRequested));
    return this.#releaseRequested;
  }

  get isHeld(): boolean {
    return this.#taken.every(({ isHeld }) => isHeld);
  }

  get remainingMs(): number {
    return Math.min(...this.#taken.map(({ remainingMs }) => remainingMs));
  }

  assertHeld(): void {
    for (const handle of this.#taken) handle.assertHeld();
  }

  async confirm(): Promise<void> {
    await Promise.all(this.#taken.map((handle) => handle.confirm()));
  }

  release(): Promise<boolean> {
    this.#released ??= releaseAll(this.#taken);
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** Releases them in reverse, all of them whatever happens. @returns Whether all were still held. */
async function releaseAll(taken: readonly LockHandle[]): Promise<boolean> {
  let wereHeld = true;
  for (const handle of taken.toReversed()) wereHeld = (await handle.release()) && wereHeld;
  return wereHeld;
}

/**
 * Aborts with the first of these. Not by `AbortSignal.any`, which keeps nobody alive who only listens: each of these
 * signals lives as long as its hold, and its listener keeps this one.
 */
function firstOf(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else
      signal.addEventListener(
        'abort',
        () => {
          controller.abort(signal.reason);
        },
        { once: true },
      );
  }
  return controller.signal;
}
