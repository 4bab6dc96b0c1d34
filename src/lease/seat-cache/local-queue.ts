import { onAbort } from '../../abort-listeners.js';
import type { Clock } from '../../clock.js';
import { ProviderClosedError } from '../../errors.js';
import type { ParsedAcquireOptions } from '../../options/request-options.js';
import type { HeldLease } from '../holding/held-lease.js';

interface LocalWaiter {
  readonly leaseMs: number;
  readonly portion: Portion;
  /** `undefined`: it has to ask the server itself. */
  settle(seat: HeldLease | undefined): void;
}

/** A line is counted in portions of so many, so that a place in it is found without going through all of it. */
const PORTION = 128;

/** One portion: so many have joined it, and these still wait. */
interface Portion {
  joined: number;
  readonly waiting: Set<LocalWaiter>;
}

/** Callers of one process who wait for a seat that it keeps, first come first. */
export class LocalQueue {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  /** In their order; none is empty. */
  readonly #portions = new Set<Portion>();
  #last: Portion = { joined: 0, waiting: new Set() };
  #length = 0;

  constructor(name: string, clock: Clock, closing: AbortSignal) {
    this.#name = name;
    this.#clock = clock;
    this.#closing = closing;
  }

  get length(): number {
    return this.#length;
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
    let settle!: LocalWaiter['settle'];
    let reject!: (why: unknown) => void;
    const settled = new Promise<HeldLease | undefined>((onSeat, onEnd) => {
      settle = onSeat;
      reject = onEnd;
    });
    const inLine: LocalWaiter = { leaseMs, settle, portion: this.#openPortion() };
    const end = (why: unknown): void => {
      this.#remove(inLine);
      reject(why);
    };
    const forget = onAbort(signal, () => {
      end(signal?.reason);
    });
    const onClosing = (): void => {
      end(new ProviderClosedError(this.#name));
    };
    const onTimeout = (): void => {
      end(timeout(this.#placeOf(inLine)));
    };
    this.#closing.addEventListener('abort', onClosing, { once: true });
    const endMs = this.#clock.nowMs() + timeoutMs;
    const timer = timeoutMs < Infinity ? this.#clock.at(endMs, onTimeout) : undefined;
    this.#join(inLine);
    try {
      return await settled;
    } finally {
      timer?.cancel();
      forget();
      this.#closing.removeEventListener('abort', onClosing);
    }
  }

  /** Gives the seat to the first. False: nobody is there, or it wants another lease. */
  handTo(seat: HeldLease): boolean {
    const first = this.#first;
    if (first?.leaseMs !== seat.grant.terms.leaseMs) return false;
    this.#remove(first);
    seat.begin();
    first.settle(seat);
    return true;
  }

  /** The first asks the server. False: nobody is there. */
  sendFirst(): boolean {
    const first = this.#first;
    if (first === undefined) return false;
    this.#remove(first);
    first.settle(undefined);
    return true;
  }

  get #first(): LocalWaiter | undefined {
    const [portion] = this.#portions;
    const [first] = portion?.waiting ?? [];
    return first;
  }

  #openPortion(): Portion {
    if (this.#last.joined === PORTION) this.#last = { joined: 0, waiting: new Set() };
    return this.#last;
  }

  #join(inLine: LocalWaiter): void {
    const { portion } = inLine;
    portion.joined += 1;
    portion.waiting.add(inLine);
    this.#portions.add(portion);
    this.#length += 1;
  }

  #remove(inLine: LocalWaiter): void {
    const { portion } = inLine;
    if (!portion.waiting.delete(inLine)) return;
    this.#length -= 1;
    if (portion.waiting.size === 0) this.#portions.delete(portion);
  }

  #placeOf(inLine: LocalWaiter): number {
    let ahead = 0;
    for (const portion of this.#portions) {
      if (portion === inLine.portion) break;
      ahead += portion.waiting.size;
    }
    for (const other of inLine.portion.waiting) {
      if (other === inLine) break;
      ahead += 1;
    }
    return ahead;
  }
}
