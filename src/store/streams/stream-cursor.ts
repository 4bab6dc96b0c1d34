import type { Document } from 'mongodb';
import { within } from '../../clock.js';
import type { Clock, Timer } from '../../clock.js';
import type { DriverChangeStream, DriverSession, DriverStream } from '../../driver-types.js';
import type { Report } from '../../events.js';
import type { Settings } from '../../options/provider-options.js';
import { AWAIT_MS } from '../change-stream.js';
import type { LockCollection } from '../lock-collection.js';

export interface StreamContext {
  readonly collection: LockCollection;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly report: Report;
}

export interface CursorListener {
  /** The server has answered, with events or without. From the first answer on, the cursor reports every event. */
  answered(cursor: StreamCursor): void;
  event(event: Document): void;
  trouble(error: unknown): void;
}

/** One cursor of a change stream, from its opening to its first trouble. Reports nothing after its `close()`. */
export class StreamCursor {
  readonly #stream: DriverChangeStream;
  readonly #readable: DriverStream;
  readonly #session: DriverSession;
  readonly #unwatch: () => void;
  readonly #context: StreamContext;
  readonly #listener: CursorListener;
  #silence: Timer | undefined;
  #isClosed = false;
  /** Resolves when the server has answered for the first time, or when it is certain that no answer will come. */
  readonly answered: Promise<void>;

  constructor(context: StreamContext, pipeline: Document[], listener: CursorListener) {
    const { collection, settings } = context;
    const { stream, session } = collection.watch(pipeline);
    // A stream that broke is never resumed (E13). The driver resumes it by itself, unless it is read through
    // `stream()`.
    const readable = stream.stream();
    this.#stream = stream;
    this.#session = session;
    this.#readable = readable;
    this.#context = context;
    this.#listener = listener;
    this.answered = firstAnswer(stream, readable, context.clock);
    const onTrouble = (error: unknown): void => {
      if (!this.#isClosed) listener.trouble(error);
    };
    const onAnswer = (): void => {
      if (this.#isClosed) return;
      this.#giveUpAfter(AWAIT_MS + settings.storeTimeoutMs, 'fell silent');
      listener.answered(this);
    };
    // The driver emits this event only at answers without changes. A busy stream may get none for a long time, so each
    // change counts as an answer, too.
    stream.on('resumeTokenChanged', onAnswer);
    stream.on('error', onTrouble);
    // A primary that stands still sends no error, and the driver goes on waiting for its answer. So the cursor also
    // reports trouble as soon as another primary follows (E17).
    this.#unwatch = collection.onFollowed(onTrouble);
    readable.on('data', (event: Document) => {
      onAnswer();
      if (!this.#isClosed) listener.event(event);
    });
    readable.on('error', onTrouble);
    // The driver reports some errors, such as that of a killed cursor, as a plain end.
    for (const ending of ['end', 'close']) {
      readable.on(ending, () => {
        onTrouble(new Error('the change stream ended'));
      });
    }
    this.#giveUpAfter(settings.storeTimeoutMs, 'did not open in time');
  }

  /**
   * While the cursor is paused, the server collects the changes, and the next answers have them. A pause must be much
   * shorter than the time after which the cursor counts as silent.
   */
  pause(isPaused: boolean): void {
    if (isPaused) this.#readable.pause();
    else this.#readable.resume();
  }

  /** Resolves when the server has closed its cursor, at the latest after `storeTimeoutMs`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#silence?.cancel();
    this.#unwatch();
    const { clock, settings } = this.#context;
    await within(clock, settings.storeTimeoutMs, this.#close());
  }

  async #close(): Promise<void> {
    // Until the first answer, the driver does not know the server's cursor, and would leave it open (R1).
    await this.answered;
    await this.#stream.close().catch(() => undefined);
    this.#readable.destroy();
    await this.#session.endSession().catch(() => undefined);
  }

  /**
   * Reports trouble if no answer comes within this time. The server answers even an idle stream, and a dead socket may
   * report no error.
   */
  #giveUpAfter(ms: number, why: string): void {
    const { clock } = this.#context;
    this.#silence?.cancel();
    this.#silence = clock.at(clock.nowMs() + ms, () => {
      this.#listener.trouble(new Error(`the change stream ${why}`));
    });
  }
}

const firstAnswer = (stream: DriverChangeStream, readable: DriverStream, clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    // The driver emits this event just before it stores the id of the cursor, so the promise resolves one turn later.
    stream.once('resumeTokenChanged', () => clock.afterTurn(resolve));
    for (const event of ['data', 'error', 'end', 'close']) {
      readable.once(event, () => {
        resolve();
      });
    }
  });

/** The field `wake` of an event. The server logs a small document whole and a larger one as a difference (E13). */
export const WAKE_OF_EVENT: Document = {
  $ifNull: ['$updateDescription.updatedFields.wake', '$fullDocument.wake'],
};
