import type { Socket } from 'node:net';

import type { Slow } from './wire-traffic.js';

/** Above this much in a lane its source is not read, so that a slow or frozen receiver holds up the sender. */
const FULL_BYTES = 4 << 20;

export interface Obstacles {
  readonly isFrozen: boolean;
  readonly slow: Slow | undefined;
}

interface Load {
  /** Undefined: the sender has closed. */
  readonly bytes: Buffer | undefined;
  readonly dueMs: number;
}

/** One direction of a connection: first in, first out, however long a load takes. */
export class Lane {
  readonly #source: Socket;
  readonly #target: Socket;
  readonly #obstacles: () => Obstacles;
  #loads: Load[] = [];
  #bytes = 0;
  #hasEnded = false;
  /** When the last load has left, where only so many bytes go through in a second. */
  #freeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Socket, target: Socket, obstacles: () => Obstacles) {
    this.#source = source;
    this.#target = target;
    this.#obstacles = obstacles;
    target.on('drain', () => {
      this.pump();
    });
    target.on('close', () => {
      this.#drop();
    });
  }

  push(bytes: Buffer): void {
    if (this.#target.destroyed || this.#hasEnded) return;
    this.#bytes += bytes.length;
    this.#loads.push({ bytes, dueMs: this.#dueMs(bytes.length) });
    this.pump();
    if (this.#bytes > FULL_BYTES) this.#source.pause();
  }

  /** The sender has closed; the receiver learns of it after all that was sent before. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#loads.push({ bytes: undefined, dueMs: this.#dueMs(0) });
    this.pump();
  }

  /** Passes on what may go now. */
  pump(): void {
    clearTimeout(this.#timer);
    if (this.#target.destroyed) this.#drop();
    if (this.#obstacles().isFrozen) return;
    const nowMs = performance.now();
    for (;;) {
      const [load] = this.#loads;
      if (load === undefined || this.#target.writableNeedDrain) break;
      if (load.dueMs > nowMs) {
        this.#timer = setTimeout(() => {
          this.pump();
        }, load.dueMs - nowMs);
        break;
      }
      this.#loads.shift();
      this.#send(load);
    }
    if (this.#bytes <= FULL_BYTES) this.#source.resume();
  }

  /** What is on its way arrives now. */
  hurry(): void {
    this.#freeAtMs = 0;
    this.#loads = this.#loads.map((load) => ({ ...load, dueMs: 0 }));
    this.pump();
  }

  #send({ bytes }: Load): void {
    if (bytes === undefined) {
      this.#target.end();
    } else {
      this.#bytes -= bytes.length;
      this.#target.write(bytes);
    }
  }

  #dueMs(bytes: number): number {
    const { slow } = this.#obstacles();
    if (slow === undefined) return 0;
    const transferMs = slow.bytesPerSecond === undefined ? 0 : (bytes / slow.bytesPerSecond) * 1000;
    this.#freeAtMs = Math.max(this.#freeAtMs, performance.now()) + transferMs;
    return this.#freeAtMs + slow.latencyMs + (slow.jitterMs?.() ?? 0);
  }

  /** Nobody is there any more to receive anything; the sender is still read, so that its end is seen. */
  #drop(): void {
    clearTimeout(this.#timer);
    this.#loads = [];
    this.#bytes = 0;
    this.#source.resume();
  }
}
