import type { Document } from 'mongodb';
import { readWake } from '../../protocol/wake.js';
import { WAKE_OF_EVENT } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';
import { StreamSupervisor } from './stream-supervisor.js';

export interface DocumentWatcher {
  /**
   * The document has changed, and its `wake` has these words. `null`: events may have been missed, or the document is
   * gone.
   */
  changed(words: readonly string[] | null): void;
}

/**
 * Reports the changes of a few documents, by one change stream over them. A watcher gets `changed(null)` when the
 * stream begins to report its document, and at each trouble with the stream: events may have been missed (E13).
 *
 * For a new name, the supervisor opens a wider cursor beside the open one. Only one cursor is opened at a time, so
 * later names wait for the next cursor.
 *
 * When the wider cursor replaces the older one, a change that the older one has not reported yet may be lost. To
 * prevent the loss, both cursors would have to stay open for a second or two, on one more connection. So a watcher
 * must also read its document once in a while.
 */
export class DocumentWatch {
  readonly #lingerMs: number;
  readonly #watchers = new Map<string, Set<DocumentWatcher>>();
  readonly #stream: StreamSupervisor;
  /** The names that the open cursor selects; while none is open, those of the last open one. */
  #covered: ReadonlySet<string> = new Set();
  /** The names that the newest cursor selects. The server may not have answered this cursor yet. */
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

  /** Whether the stream is open. It may not cover all watched documents yet. */
  get isOpen(): boolean {
    return this.#stream.state === 'streaming';
  }

  get isStreaming(): boolean {
    return this.isOpen && this.#coversAll();
  }

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

/** Selects the changes of these documents, and the events that concern the whole collection. */
const changesOf = (names: readonly string[]): Document[] => [
  {
    $match: {
      $or: [{ 'documentKey._id': { $in: names } }, { operationType: { $nin: [...WRITES, 'delete'] } }],
    },
  },
  { $project: { operationType: 1, documentKey: 1, wake: WAKE_OF_EVENT } },
];
