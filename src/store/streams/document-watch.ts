import type { Document } from 'mongodb';
import { readWake } from '../../protocol/wake.js';
import { WAKE_OF_EVENT } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';
import { StreamSupervisor } from './stream-supervisor.js';

/** Listens to the changes of one document. */
export interface DocumentWatcher {
  /** The document has changed, with these words in `wake`; `null`: it may have changed, or is gone. */
  changed(words: readonly string[] | null): void;
}

/**
 * Reports every change of a few documents, by one change stream over them. When the stream breaks, and at each new
 * opening that fails, every watcher gets one `changed(null)`, because events may have been missed (E13). Until a stream
 * is open again, no change is reported, and `isStreaming` is false.
 *
 * A new name makes the supervisor open a wider stream beside the open one, so the watchers of the older names notice
 * nothing. One stream is opened at a time; names that come meanwhile wait for the next stream. When the wider stream
 * replaces the older one, a change that the older one has not reported yet may be lost: to keep the older one until the
 * wider one has caught up would take one more connection for a second or two. So watchers must not rely on the events
 * alone, and check the document once in a while.
 */
export class DocumentWatch {
  readonly #lingerMs: number;
  readonly #watchers = new Map<string, Set<DocumentWatcher>>();
  readonly #stream: StreamSupervisor;
  /** The names that the open cursor selects, and those of the cursor that is being opened. */
  #covered: ReadonlySet<string> = new Set();
  #asked: ReadonlySet<string> = new Set();

  /** @param lingerMs - The time for which the stream stays open after the last watcher has left. */
  constructor(context: StreamContext, lingerMs: number) {
    this.#lingerMs = lingerMs;
    this.#stream = new StreamSupervisor(context, {
      pipeline: () => {
        this.#asked = new Set(this.#watchers.keys());
        return changesOf([...this.#asked]);
      },
      isEnough: () => this.#coversAll(),
      opened: (isWider) => {
        const before = isWider ? this.#covered : new Set();
        this.#covered = this.#asked;
        this.#tellAll((name) => !before.has(name) && this.#covered.has(name));
      },
      event: this.#tell.bind(this),
      lost: () => {
        this.#tellAll();
      },
      refused: (_, by) => {
        if (by === 'stream') this.#tellAll();
      },
    });
  }

  /** Whether the changes of all watched documents are reported. */
  get isStreaming(): boolean {
    return this.#stream.state === 'streaming' && this.#coversAll();
  }

  /** Watches one document. Returns a function to unsubscribe. */
  watch(name: string, watcher: DocumentWatcher): () => void {
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers.add(watcher));
    this.#stream.join();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
      if (this.#watchers.size === 0) this.#stream.leave(this.#lingerMs);
    };
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#stream.close();
  }

  #coversAll(): boolean {
    return [...this.#watchers.keys()].every((name) => this.#covered.has(name));
  }

  #tell(event: Document): void {
    const { operationType, documentKey, wake } = event as Readonly<Record<string, unknown>>;
    if (operationType === 'delete' || isWrite(operationType)) {
      const { _id: name } = documentKey as { readonly _id: string };
      const words = isWrite(operationType) ? readWake(wake) : null;
      for (const watcher of [...(this.#watchers.get(name) ?? [])]) watcher.changed(words);
    } else this.#tellAll();
  }

  #tellAll(isMeant: (name: string) => boolean = () => true): void {
    for (const [name, watchers] of [...this.#watchers]) {
      if (isMeant(name)) for (const watcher of [...watchers]) watcher.changed(null);
    }
  }
}

const WRITES: readonly unknown[] = ['insert', 'update', 'replace'];

const isWrite = (operationType: unknown): boolean => WRITES.includes(operationType);

/** The changes of these documents, and the events of the whole collection. */
const changesOf = (names: readonly string[]): Document[] => [
  {
    $match: {
      $or: [{ 'documentKey._id': { $in: names } }, { operationType: { $nin: [...WRITES, 'delete'] } }],
    },
  },
  { $project: { operationType: 1, documentKey: 1, wake: WAKE_OF_EVENT } },
];
