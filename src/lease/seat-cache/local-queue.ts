import { withCallerFrames } from '../../caller-frames.js';
import type { Clock } from '../../clock.js';
import type { ParsedAcquireOptions } from '../../options/request-options.js';
import { Scope } from '../../scope.js';
import type { CallLimits } from '../../scope.js';
import { Hold } from '../holding/hold.js';
import type { Seat } from '../holding/seat.js';

export interface LocalRequest extends ParsedAcquireOptions, CallLimits {
  readonly onQueued?: (() => void) | undefined;
}

type End =
  /** `hold` is `undefined` if the caller must ask the server itself. */
  { readonly hold: Hold | undefined } | { readonly errorOf: () => unknown };

interface LocalWaiter {
  readonly leaseMs: number;
  readonly chunk: Chunk;
  resolve(end: End): void;
}

/**
 * The queue is split into chunks, so that counting the waiters ahead of a caller does not iterate over the whole queue.
 */
const CHUNK_SIZE = 128;

/** A part of the queue. `joined` also counts the callers that have left. */
interface Chunk {
  joined: number;
  readonly waiting: Set<LocalWaiter>;
}

/** The callers of one process that wait here for a seat of one lock, first come, first served. */
export class LocalQueue {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  /** The chunks with waiters, in the order of the queue. */
  readonly #chunks = new Set<Chunk>();
  #last: Chunk = { joined: 0, waiting: new Set() };
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
   * Waits for a turn. Resolves with a hold of a seat, or with `undefined` if the caller must ask the server instead.
   *
   * @param timeout - Makes the error of a caller that timed out with `place` callers ahead.
   * @throws The error of `timeout`; the reason of the signal; {@link ProviderClosedError}.
   */
  async wait(request: LocalRequest, timeout: (place: number) => Error): Promise<Hold | undefined> {
    const scope = new Scope(this.#name, this.#clock, this.#closing, request, 0);
    scope.throwIfOver();
    const { leaseMs } = request.durations;
    let resolve!: LocalWaiter['resolve'];
    const ended = new Promise<End>((onEnd) => {
      resolve = onEnd;
    });
    const waiter: LocalWaiter = { leaseMs, resolve, chunk: this.#openChunk() };
    const fail = (errorOf: () => unknown): void => {
      this.#remove(waiter);
      resolve({ errorOf });
    };
    const close = scope.open({
      aborted: fail,
      timeUp: () => {
        const place = this.#placeOf(waiter);
        fail(() => timeout(place));
      },
    });
    this.#join(waiter);
    request.onQueued?.();
    try {
      const end = await ended;
      // The error is made here, so that its stack leads to the caller.
      if ('errorOf' in end) throw withCallerFrames(end.errorOf);
      return end.hold;
    } finally {
      close();
    }
  }

  /**
   * Passes the seat to the first caller. Returns false if no caller waits, or if the first caller wants another lease
   * time.
   */
  handTo(seat: Seat): boolean {
    const first = this.#first;
    if (first?.leaseMs !== seat.grant.durations.leaseMs) return false;
    this.#remove(first);
    first.resolve({ hold: new Hold(seat) });
    return true;
  }

  /** Makes the first caller ask the server. Returns false if no caller waits. */
  sendFirst(): boolean {
    const first = this.#first;
    if (first === undefined) return false;
    this.#remove(first);
    first.resolve({ hold: undefined });
    return true;
  }

  get #first(): LocalWaiter | undefined {
    const [chunk] = this.#chunks;
    const [first] = chunk?.waiting ?? [];
    return first;
  }

  #openChunk(): Chunk {
    if (this.#last.joined === CHUNK_SIZE) this.#last = { joined: 0, waiting: new Set() };
    return this.#last;
  }

  #join(waiter: LocalWaiter): void {
    const { chunk } = waiter;
    chunk.joined += 1;
    chunk.waiting.add(waiter);
    this.#chunks.add(chunk);
    this.#length += 1;
  }

  #remove(waiter: LocalWaiter): void {
    const { chunk } = waiter;
    if (!chunk.waiting.delete(waiter)) return;
    this.#length -= 1;
    if (chunk.waiting.size === 0) this.#chunks.delete(chunk);
  }

  #placeOf(waiter: LocalWaiter): number {
    let ahead = 0;
    for (const chunk of this.#chunks) {
      if (chunk === waiter.chunk) break;
      ahead += chunk.waiting.size;
    }
    for (const other of waiter.chunk.waiting) {
      if (other === waiter) break;
      ahead += 1;
    }
    return ahead;
  }
}
