import type { Readable } from 'node:stream';
import type { ChangeStream, ClientSession, Document } from 'mongodb';
import type { LockCollection } from '../lock-collection.js';

/** Who hears what one cursor has to tell. */
export interface WakeCursorListener {
  /** The server has answered, with events or without: the first time, the cursor is armed. */
  answered(): void;
  event(event: Document): void;
  /** It tells nothing more. */
  trouble(error: unknown): void;
}

/** One change stream, from its opening to its first trouble. */
export class WakeCursor {
  readonly #stream: ChangeStream;
  readonly #readable: Readable;
  readonly #session: ClientSession;
  readonly #unwatch: () => void;
  /** Resolves when the server has answered for the first time, or never will. */
  readonly answered: Promise<void>;

  constructor(collection: LockCollection, pipeline: Document[], listener: WakeCursorListener) {
    const { stream, session } = collection.watch(pipeline);
    // `.stream()` is the one way to read a change stream that never resumes it behind our back.
    const readable = stream.stream();
    this.#stream = stream;
    this.#session = session;
    this.#readable = readable;
    this.answered = firstAnswer(stream, readable);
    const onTrouble = (error: unknown): void => {
      listener.trouble(error);
    };
    // The driver reports by this event only answers without events. A busy stream may give none for a long time.
    stream.on('resumeTokenChanged', () => {
      listener.answered();
    });
    stream.on('error', onTrouble);
    // A primary that stands still says nothing, and the driver waits for it (E17).
    this.#unwatch = collection.onFollowed(onTrouble);
    readable.on('data', (event: Document) => {
      listener.answered();
      listener.event(event);
    });
    readable.on('error', onTrouble);
    // The driver turns some errors, a killed cursor among them, into a plain end.
    for (const ending of ['end', 'close']) {
      readable.on(ending, () => {
        onTrouble(new Error('the change stream ended'));
      });
    }
  }

  /** Resolves when the server has been told; takes as long as the server does. */
  async close(): Promise<void> {
    this.#unwatch();
    // Until the first answer, the driver does not know the server's cursor, and would leave it open (R1).
    await this.answered;
    try {
      await this.#stream.close();
    } finally {
      this.#readable.destroy();
      await this.#session.endSession();
    }
  }
}

const firstAnswer = (stream: ChangeStream, readable: Readable): Promise<void> =>
  new Promise((resolve) => {
    // The driver tells of the answer just before it takes down the cursor's id.
    stream.once('resumeTokenChanged', () => setImmediate(resolve));
    readable.once('data', resolve);
    for (const ending of ['error', 'end', 'close']) readable.once(ending, resolve);
  });

/**
 * The words that name a process. Small documents are logged whole and seen as `replace`, bigger ones as `update`: `wake`
 * is looked for in both (E13). What concerns the whole collection passes. Deletes do not: purges of unused documents come
 * in bursts, of which the library would have to read every one, and looks and extensions find out what is missing.
 */
export function wakePipeline(process: string): Document[] {
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
    {
      $project: {
        documentKey: 1,
        wake: { $ifNull: ['$updateDescription.updatedFields.wake', '$fullDocument.wake'] },
      },
    },
  ];
}
