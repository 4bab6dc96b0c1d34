import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { readCommand } from '../commands/read-command.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import type { Answered } from './connections.js';
import { notSimulated } from './driver-errors.js';
import type { Sender } from './sender.js';

interface Cursor {
  readonly id: number;
  readonly firstBatch?: readonly object[];
  readonly nextBatch?: readonly object[];
  readonly postBatchResumeToken: unknown;
}

export interface WatchOptions {
  readonly maxAwaitTimeMS?: number | undefined;
}

/** The driver emits others only to those who read by the event `change`. */
const EVENTS: readonly (string | symbol)[] = ['close', 'error', 'resumeTokenChanged', 'removeListener'];

/** A change stream that is read through `stream()`. As in the driver, such a stream does not resume after an error. */
export class SimulatedChangeStream extends EventEmitter {
  readonly #sender: Sender;
  readonly #database: string;
  readonly #collection: string;
  readonly #pipeline: readonly object[];
  readonly #maxAwaitMs: number;
  /** The server's cursor; `undefined` before the first answer, and after one that reports the cursor closed (id 0). */
  #cursor: { readonly id: number; readonly address: string } | undefined;
  #readable: Readable | undefined;
  #isClosed = false;

  constructor(
    sender: Sender,
    database: string,
    collection: string,
    pipeline: readonly object[],
    { maxAwaitTimeMS = 1_000 }: WatchOptions,
  ) {
    super();
    this.#sender = sender;
    this.#database = database;
    this.#collection = collection;
    this.#pipeline = pipeline;
    this.#maxAwaitMs = maxAwaitTimeMS;
    this.on('newListener', (event: string | symbol) => {
      if (EVENTS.includes(event)) return;
      throw notSimulated(new NotSimulatedError(`the event ${String(event)} of ChangeStream`));
    });
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  stream(): Readable {
    const readable = new Readable({ objectMode: true, read: () => undefined });
    this.#readable = readable;
    void this.#read(readable).catch((error: unknown) => {
      if (!this.#isClosed) readable.destroy(error as Error);
    });
    return readable;
  }

  /**
   * Resolves when the server has closed the cursor. Before the first answer, the client does not know the cursor. As
   * in the driver, the server then keeps the cursor open, and this call resolves at once. A second call also resolves
   * at once.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit('close');
    this.#readable?.destroy();
    if (this.#cursor === undefined) return;
    const { id, address } = this.#cursor;
    const kill = readCommand({ killCursors: this.#collection, cursors: [id] }, this.#database);
    await this.#sender.send(kill, { address });
  }

  async #read(readable: Readable): Promise<void> {
    const pipeline = [{ $changeStream: {} }, ...this.#pipeline];
    const open = readCommand({ aggregate: this.#collection, pipeline, cursor: {} }, this.#database);
    let answered = await this.#sender.send(open, {});
    while (this.#deliver(answered, readable)) {
      const { id, address } = this.#cursor ?? { id: 0, address: answered.address };
      const more = { getMore: id, collection: this.#collection, maxTimeMS: this.#maxAwaitMs };
      answered = await this.#sender.send(readCommand(more, this.#database), { address });
    }
  }

  /** Returns false if no further answer will follow. */
  #deliver({ answer, address }: Answered, readable: Readable): boolean {
    const { id, firstBatch, nextBatch, postBatchResumeToken } = answer['cursor'] as Cursor;
    this.#cursor = id === 0 ? undefined : { id, address };
    const batch = firstBatch ?? nextBatch ?? [];
    if (this.#isClosed) return false;
    for (const event of batch) readable.push(event);
    // If a stream is read through `stream()`, the driver emits this event only for answers without changes.
    if (batch.length === 0) this.emit('resumeTokenChanged', postBatchResumeToken);
    if (id === 0) readable.push(null);
    return id !== 0;
  }
}
