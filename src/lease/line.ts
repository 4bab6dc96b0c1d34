import type { Clock } from '../clock.js';
import { ProviderClosedError } from '../errors.js';
import type { ParsedAcquireOptions } from '../options/request-options.js';
import type { HeldLease } from './held-lease.js';

interface InLine {
  readonly leaseMs: number;
  /** `undefined`: it has to ask the server itself. */
  settle(seat: HeldLease | undefined): void;
}

/** Callers of one process who wait for a seat that it keeps, first come first. */
export class Line {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #waiting = new Set<InLine>();

  constructor(name: string, clock: Clock, closing: AbortSignal) {
    this.#name = name;
    this.#clock = clock;
    this.#closing = closing;
  }

  get length(): number {
    return this.#waiting.size;
  }

  /**
   * The seat when its turn has come; `undefined` if the server has to be asked instead.
   *
   * @param timeout - The error of a wait that so many were ahead of when its time was up.
   * @throws That error; the reason of the signal; {@link ProviderClosedError}.
   */
  async wait(
    { timeoutMs, signal, terms: { leaseMs } }: ParsedAcquireOptions,
    timeout: (place: number) => Error,
  ): Promise<HeldLease | undefined> {
    signal?.throwIfAborted();
    if (this.#closing.aborted) throw new ProviderClosedError(this.#name);
    let settle!: InLine['settle'];
    let reject!: (why: unknown) => void;
    const settled = new Promise<HeldLease | undefined>((onSeat, onEnd) => {
      settle = onSeat;
      reject = onEnd;
    });
    const inLine: InLine = { leaseMs, settle };
    const end = (why: unknown): void => {
      this.#waiting.delete(inLine);
      reject(why);
    };
    const onAbort = (): void => {
      end(signal?.reason);
    };
    const onClosing = (): void => {
      end(new ProviderClosedError(this.#name));
    };
    const onTimeout = (): void => {
      end(timeout([...this.#waiting].indexOf(inLine)));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#closing.addEventListener('abort', onClosing, { once: true });
    const endMs = this.#clock.nowMs() + timeoutMs;
    const timer = timeoutMs < Infinity ? this.#clock.at(endMs, onTimeout) : undefined;
    this.#waiting.add(inLine);
    try {
      return await settled;
    } finally {
      timer?.cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#closing.removeEventListener('abort', onClosing);
    }
  }

  /** Gives the seat to the first. False: nobody is there, or it wants another lease. */
  handTo(seat: HeldLease): boolean {
    const [first] = this.#waiting;
    if (first?.leaseMs !== seat.grant.terms.leaseMs) return false;
    this.#waiting.delete(first);
    seat.begin();
    first.settle(seat);
    return true;
  }

  /** The first asks the server. False: nobody is there. */
  sendFirst(): boolean {
    const [first] = this.#waiting;
    if (first === undefined) return false;
    this.#waiting.delete(first);
    first.settle(undefined);
    return true;
  }
}
