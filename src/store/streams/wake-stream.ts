import type { Document } from 'mongodb';
import { readWake, readWakeWord } from '../../protocol/wake.js';
import { mayBeRefusedByDriver } from '../outcome.js';
import { WAKE_OF_EVENT } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';
import { StreamSupervisor } from './stream-supervisor.js';

/** What the wake stream tells the waits of its process. */
export interface WakeListener {
  /** This attempt was granted with this token; token 0: look again. */
  onWoken(name: string, id: string, token: number): void;
  /** The stream has been (re)opened: what happened before is not known. */
  onOpened(): void;
  /** There is no stream, for now or for good: the process has to poll for its waiters. */
  onBlind(): void;
  /** The collection was dropped or renamed: any document may be gone. */
  onVanished(): void;
  /** The driver refuses every call: each wait should send its request again, and fail by the answer. */
  refusedByDriver(): void;
  /** The option `wakeups` demands a stream, and there is none. */
  impossible(error: unknown): void;
}

/** From the second failure in a row on, waits are polled for until a stream is open again. */
const BLIND_AFTER_FAILURES = 2;

/** The one change stream of a provider, filtered by the server to the words that name its process. */
export class WakeStream {
  readonly #process: string;
  readonly #wakeIdleMs: number;
  readonly #listener: WakeListener;
  readonly #stream: StreamSupervisor;

  constructor(context: StreamContext, process: string, listener: WakeListener) {
    const { settings, report } = context;
    let isAnnounced = false;
    this.#process = process;
    this.#wakeIdleMs = settings.wakeIdleMs;
    this.#listener = listener;
    this.#stream = new StreamSupervisor(context, {
      pipeline: () => wakePipeline(process),
      isEnough: () => true,
      opened: () => {
        if (!isAnnounced) report('wakeups', { mode: 'change-stream', why: 'the change stream is open' });
        isAnnounced = true;
        listener.onOpened();
      },
      event: this.#dispatch.bind(this),
      lost: (error) => {
        if (this.isPolling) listener.onBlind();
        if (mayBeRefusedByDriver(error)) listener.refusedByDriver();
      },
      refused: (error, by) => {
        if (settings.wakeups === 'change-stream') {
          listener.impossible(error);
          return;
        }
        report('wakeups', { mode: 'polling', why: error instanceof Error ? error.message : String(error) });
        listener.onBlind();
        if (by !== 'settings') listener.onOpened();
      },
    });
  }

  /** Whether grants have to be looked for, because no event will tell of them. */
  get isPolling(): boolean {
    const { state, failures } = this.#stream;
    return state === 'refused' || (state === 'opening' && failures >= BLIND_AFTER_FAILURES);
  }

  /** Since when events reach us without a gap; infinitely late if they do not. */
  get openedAtMs(): number {
    return this.#stream.openedAtMs;
  }

  /** Says whether anybody listens. The stream opens at once, and closes so long after. */
  listen(listening: boolean, lingerMs: number = this.#wakeIdleMs): void {
    if (listening) this.#stream.join();
    else this.#stream.leave(lingerMs);
  }

  /** Ends for good. Resolves when the server's cursors are closed, or can no longer be told to. */
  async close(): Promise<void> {
    await this.#stream.close();
  }

  #dispatch(event: Document): void {
    const { documentKey, wake } = event as {
      readonly documentKey?: { readonly _id: string };
      readonly wake?: unknown;
    };
    if (documentKey === undefined) this.#listener.onVanished();
    for (const word of readWake(wake)) {
      const told = readWakeWord(this.#process, word);
      if (told !== undefined && documentKey !== undefined) {
        this.#listener.onWoken(documentKey._id, told.id, told.token);
      }
    }
  }
}

/**
 * Selects the words that name a process. The server logs a small document whole, seen as `replace`, and a larger one as
 * `update`, so the filter looks for `wake` in both (E13). Events of the whole collection pass. Deletes do not: purges of
 * unused documents come in bursts, and the process would have to read each of them. Looks and extensions find out what
 * is missing.
 */
function wakePipeline(process: string): Document[] {
  const namesUs = { $regex: ` ${process.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}:` };
  return [
    {
      $match: {
        $or: [
          { 'updateDescription.updatedFields.wake': namesUs },
          { 'fullDocument.wake': namesUs },
          { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } },
        ],
      },
    },
    { $project: { documentKey: 1, wake: WAKE_OF_EVENT } },
  ];
}
