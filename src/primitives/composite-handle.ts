import { inspect } from 'node:util';
import { followSilently, heardController } from '../lease/holding/heard-signal.js';
import { LeaseHandle, standingForLog } from '../lease/holding/lease-handle.js';
import type { Hold, LockHandle } from '../lease/holding/lock-handle.js';
import type { Standing } from '../lease/holding/loss.js';
import type { PermitHandle } from '../lease/holding/permit-handle.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import { portrait } from '../portrait.js';
import type { LockRequest, PermitRequest, UpgradeableReadRequest, WriteRequest } from './lock-request.js';

/** The type of the handle that a request for one lock returns. */
export type HandleFor<R extends LockRequest> = R extends PermitRequest
  ? PermitHandle
  : R extends WriteRequest | UpgradeableReadRequest
    ? ReaderWriterHandle
    : LockHandle;

/**
 * Several locks that are held as one. The composite is lost when one of its locks is lost. A loss releases nothing: the
 * other locks stay held until `release`, which releases the locks in the reverse order of the acquiring.
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

  /** @param taken - The handles in the order in which the locks were acquired. */
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

  /** @internal For logs: the present state of the composite and of each handle. Reading it has no side effect. */
  toJSON(): object {
    const [shortest] = this.#taken.map(standingOf).sort((a, b) => a.remainingMs - b.remainingMs);
    return { ...(shortest && standingForLog(shortest)), handles: this.handles };
  }

  /** @internal */
  [inspect.custom](): object {
    return portrait('CompositeHandle', this.toJSON());
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

const standingOf = (handle: LockHandle): Standing =>
  handle instanceof LeaseHandle ? handle.standing() : { remainingMs: handle.remainingMs, why: undefined };

/**
 * Releases all handles in the reverse order, even after a handle that was not held any more.
 *
 * @returns Whether all of them were still held.
 */
async function releaseAll(taken: readonly LockHandle[]): Promise<boolean> {
  let wereHeld = true;
  for (const handle of taken.toReversed()) wereHeld = (await handle.release()) && wereHeld;
  return wereHeld;
}

/**
 * Combines `signals` into one signal, which aborts with the first of them. `AbortSignal.any` is not enough: its result
 * does not keep the given signals alive.
 *
 * The combined signal keeps the given signals alive, and so their handles. The given signals keep the combined signal
 * alive only while code listens to it. So the garbage collector can collect the composite and the handles together.
 */
function firstOf(signals: readonly AbortSignal[]): AbortSignal {
  const first = signals.find(({ aborted }) => aborted);
  if (first !== undefined) return AbortSignal.abort(first.reason);
  const abortOf = new Map(
    signals.map((signal) => [
      signal,
      (): void => {
        controller.abort(signal.reason);
      },
    ]),
  );
  const controller = heardController((isHeard) => {
    for (const [signal, abort] of abortOf) {
      if (isHeard) signal.addEventListener('abort', abort, { once: true });
      else signal.removeEventListener('abort', abort);
    }
  });
  for (const signal of signals) followSilently(signal, controller);
  return controller.signal;
}
