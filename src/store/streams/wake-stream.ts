import type { Document } from 'mongodb';
import { textOf } from '../../error-text.js';
import type { GrantNews } from '../../observer.js';
import { naming, readWake, readWakeWords } from '../../protocol/wake.js';
import { mayBeRefusedByDriver } from '../outcome.js';
import { WAKE_OF_EVENT } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';
import { StreamSupervisor } from './stream-supervisor.js';

export interface WakeListener {
  /**
   * A word names the attempt `id`. `token` is the token of a grant, `LOOK_AGAIN` or `OTHERS_WAIT`. `news` is what the
   * event tells of its update.
   */
  onWoken(name: string, id: string, token: number, news: GrantNews): void;
  /**
   * Events may have been missed: the process has to look at every lock that it waits for, and to read every lock of
   * which it keeps a seat.
   */
  onGap(): void;
  /** There is no stream, for now or for good: the process has to poll for its waits. */
  onNoStream(): void;
  /** The collection was dropped or renamed: any document may be gone. */
  onCollectionGone(): void;
  /**
   * The stream broke with an error after which the driver may refuse every command, for example because the client is
   * closed. To find out, the process looks at every lock that it waits for. If a look is refused, the waits for that
   * lock fail.
   */
  refusedByDriver(): void;
  /** The option `wakeups` is `change-stream`, and the stream was refused: the waits of the process fail. */
  streamRequiredButRefused(error: unknown): void;
}

/** From this number of failures in a row on, the process polls for its waits until a stream is open again. */
const POLLING_AFTER_FAILURES = 2;

/** The change stream that tells a provider of its grants. */
export class WakeStream {
  readonly #process: string;
  readonly #listener: WakeListener;
  readonly #stream: StreamSupervisor;

  /** @param telling - `isOn`: something observes the provider, so events have to contain the server's time. */
  constructor(
    context: StreamContext,
    process: string,
    listener: WakeListener,
    telling: { readonly isOn: boolean } = { isOn: false },
  ) {
    const { settings, report } = context;
    let isAnnounced = false;
    this.#process = process;
    this.#listener = listener;
    this.#stream = new StreamSupervisor(context, {
      pipeline: () => wakePipeline(process, telling.isOn),
      isEnough: () => true,
      opened: () => {
        if (!isAnnounced) report('wakeups', { mode: 'change-stream', why: 'the change stream is open' });
        isAnnounced = true;
        listener.onGap();
      },
      event: this.#dispatch.bind(this),
      lost: (error) => {
        if (this.isPolling) listener.onNoStream();
        if (mayBeRefusedByDriver(error)) listener.refusedByDriver();
      },
      refused: (error, by) => {
        if (settings.wakeups === 'change-stream') {
          listener.streamRequiredButRefused(error);
          return;
        }
        report('wakeups', { mode: 'polling', why: textOf(error) });
        listener.onNoStream();
        if (by !== 'settings') listener.onGap();
      },
    });
  }

  get isPolling(): boolean {
    const { state, failures } = this.#stream;
    return state === 'refused' || (state === 'opening' && failures >= POLLING_AFTER_FAILURES);
  }

  /** The time since which events have arrived without a gap; `Infinity` while the stream is not open. */
  get gaplessSinceMs(): number {
    return this.#stream.openedAtMs;
  }

  /**
   * True: opens the stream, unless it is open, opening or refused. False: closes an open stream after `lingerMs`,
   * unless a call with true comes first.
   */
  listen(listening: boolean, lingerMs = 0): void {
    if (listening) this.#stream.join();
    else this.#stream.leave(lingerMs);
  }

  /** Ends for good. Resolves when the server's cursors are closed, at the latest after `storeTimeoutMs`. */
  async close(): Promise<void> {
    await this.#stream.close();
  }

  #dispatch(event: Document): void {
    const { documentKey, wake, wallTime } = event as {
      readonly documentKey?: { readonly _id: string };
      readonly wake?: unknown;
      readonly wallTime?: unknown;
    };
    if (documentKey === undefined) this.#listener.onCollectionGone();
    if (documentKey === undefined) return;
    const grantedAtMs = wallTime instanceof Date ? wallTime.getTime() : undefined;
    for (const { id, token, handedBy } of readWakeWords(this.#process, readWake(wake))) {
      this.#listener.onWoken(documentKey._id, id, token, { grantedAtMs, handedBy });
    }
  }
}

/**
 * Selects the changes whose words name this process, and the events of the whole collection. A small document arrives
 * whole, as `replace` or `insert`. A larger one arrives as a difference, as `update`. So the filter looks for `wake`
 * in both forms (E13). Deletes are left out: purges of unused documents come in bursts, and the process would have to
 * read each of them. Looks and extensions find out which documents are missing.
 */
function wakePipeline(process: string, hasTime: boolean): Document[] {
  const namesUs = { $regex: naming(process) };
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
    // Servers before 6.0 have no `wallTime`.
    { $project: { documentKey: 1, wake: WAKE_OF_EVENT, ...(hasTime ? { wallTime: 1 } : {}) } },
  ];
}
