import type { Document } from 'mongodb';
import { within } from '../../clock.js';
import type { Clock, Timer } from '../../clock.js';
import type { Report } from '../../events.js';
import type { Settings } from '../../options/provider-options.js';
import { readWake } from '../../protocol/wake.js';
import { AWAIT_MS } from '../lock-collection.js';
import type { LockCollection } from '../lock-collection.js';
import { isStreamRefused } from '../outcome.js';
import { WakeCursor } from './wake-cursor.js';

/** Who wants to know when one document changes. */
export interface DocumentWatcher {
  /** It has changed, and says this in `wake`; `null`: what has happened is not known. */
  changed(words: readonly string[] | null): void;
}

const MAX_REOPEN_PAUSE_MS = 1_000;

/** One cursor, and what it tells of. */
interface Coverage {
  readonly cursor: WakeCursor;
  readonly names: ReadonlySet<string>;
  answeredAtMs: number;
}

/**
 * Tells of every change of a few documents, by one change stream over them. A stream is never resumed: after any trouble
 * it is opened afresh, and every watcher is told that what has happened meanwhile is not known (E13). Where there is no
 * stream, or not just now, it tells nothing, and `isStreaming` says so. A stream that the server refuses is not opened again.
 *
 * Names that are new have a wider stream opened beside the one there is, which goes on until the wider one has answered:
 * so those that it tells of notice nothing. One is opened at a time; names that come meanwhile wait for the next. A change
 * that the one before was just about to tell of may be lost when it is closed; to keep it until it has caught up would
 * take one more connection for a second or two. So whoever watches looks by itself once in a while, or when the new name
 * is told of.
 */
export class DocumentWatch {
  readonly #collection: LockCollection;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #lingerMs: number;
  readonly #watchers = new Map<string, Set<DocumentWatcher>>();
  /** What tells. */
  #current: Coverage | undefined;
  /** What is to take its place, and has not answered yet. */
  #wider: Coverage | undefined;
  #isMeeting = false;
  #isRefused = false;
  #isClosed = false;
  #failures = 0;
  #silence: Timer | undefined;
  #reopening: Timer | undefined;
  #resting: Timer | undefined;
  readonly #ending = new Set<Promise<void>>();

  /** @param lingerMs - How long the stream stays open behind the last watcher. */
  constructor(
    collection: LockCollection,
    settings: Settings,
    clock: Clock,
    report: Report,
    lingerMs: number,
  ) {
    this.#collection = collection;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.#lingerMs = lingerMs;
  }

  /** Whether changes of all that is watched are told of at this moment. */
  get isStreaming(): boolean {
    return this.#coversAll();
  }

  /** Returns what ends that. */
  watch(name: string, watcher: DocumentWatcher): () => void {
    this.#resting?.cancel();
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers.add(watcher));
    if (this.#reopening === undefined) void this.#widen();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
      if (this.#watchers.size === 0 && !this.#isClosed) this.#rest();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watchers.clear();
    this.#resting?.cancel();
    this.#reopening?.cancel();
    this.#discardAll();
    await within(this.#clock, this.#settings.storeTimeoutMs, Promise.allSettled(this.#ending));
  }

  /** Nobody watches; whoever comes soon finds the stream open. */
  #rest(): void {
    this.#resting?.cancel();
    this.#resting = undefined;
    const rest = (): void => {
      this.#reopening?.cancel();
      this.#reopening = undefined;
      this.#failures = 0;
      this.#discardAll();
    };
    if (this.#lingerMs === 0) rest();
    else this.#resting = this.#clock.at(this.#clock.nowMs() + this.#lingerMs, rest);
  }

  #coversAll(): boolean {
    const covered = this.#current?.names;
    return covered !== undefined && [...this.#watchers.keys()].every((name) => covered.has(name));
  }

  /** Opens a stream over all that is watched, unless there is one, or one is just being opened. */
  async #widen(): Promise<void> {
    if (this.#settings.wakeups === 'polling' || this.#isRefused) return;
    if (this.#isMeeting || this.#wider !== undefined) return;
    this.#isMeeting = true;
    const server = await this.#collection.handshake();
    this.#isMeeting = false;
    if (this.#isClosed || this.#coversAll() || this.#watchers.size === 0) return;
    if (server.type === 'done' && !server.value.hasChangeStreams) return;
    try {
      this.#open([...this.#watchers.keys()]);
    } catch (error) {
      this.#trouble(error);
    }
  }

  #open(names: readonly string[]): void {
    const isWanted = (): boolean => coverage === this.#current || coverage === this.#wider;
    const cursor = new WakeCursor(this.#collection, changesOf(names), {
      answered: () => {
        if (isWanted()) this.#answered(coverage);
      },
      event: (event) => {
        if (isWanted()) this.#tell(event);
      },
      trouble: (error) => {
        if (isWanted()) this.#trouble(error);
      },
    });
    const coverage: Coverage = { cursor, names: new Set(names), answeredAtMs: this.#clock.nowMs() };
    this.#wider = coverage;
    this.#listenForSilence();
  }

  #answered(coverage: Coverage): void {
    coverage.answeredAtMs = this.#clock.nowMs();
    if (coverage !== this.#wider) return;
    this.#wider = undefined;
    this.#failures = 0;
    // Whoever was new has left already.
    if (this.#coversAll()) {
      this.#discard(coverage);
      return;
    }
    const before = this.#current;
    this.#current = coverage;
    this.#discard(before);
    this.#tellAll((name) => before?.names.has(name) !== true && coverage.names.has(name));
    // For those that have come meanwhile.
    if (!this.#coversAll()) void this.#widen();
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

  /** The server answers an idle stream once in a while; one that does not has been forgotten somewhere on the way. */
  #listenForSilence(): void {
    const answeredAtMs = [this.#current, this.#wider].flatMap((each) => each?.answeredAtMs ?? []);
    const silentAtMs = Math.min(...answeredAtMs) + AWAIT_MS + this.#settings.storeTimeoutMs;
    this.#silence?.cancel();
    if (silentAtMs === Infinity) return;
    if (silentAtMs <= this.#clock.nowMs()) this.#trouble(new Error('the change stream fell silent'));
    else
      this.#silence = this.#clock.at(silentAtMs, () => {
        this.#listenForSilence();
      });
  }

  #trouble(trouble: unknown): void {
    this.#discardAll();
    if (this.#watchers.size === 0) return;
    const error = this.#collection.brief(trouble, 'changeStream and find');
    this.#report('storeError', { lockName: null, during: 'stream', error });
    this.#isRefused = isStreamRefused(error);
    if (!this.#isRefused) this.#reopenLater();
    this.#tellAll();
  }

  #reopenLater(): void {
    const pauseMs = Math.min(MAX_REOPEN_PAUSE_MS, 25 * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#reopening?.cancel();
    this.#reopening = this.#clock.at(this.#clock.nowMs() + pauseMs, () => {
      this.#reopening = undefined;
      void this.#widen();
    });
  }

  #discardAll(): void {
    this.#silence?.cancel();
    this.#discard(this.#current);
    this.#discard(this.#wider);
    this.#current = undefined;
    this.#wider = undefined;
  }

  #discard(coverage: Coverage | undefined): void {
    if (coverage === undefined) return;
    const ended = coverage.cursor.close().catch(() => undefined);
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }
}

const WRITES: readonly unknown[] = ['insert', 'update', 'replace'];

const isWrite = (operationType: unknown): boolean => WRITES.includes(operationType);

/** The changes of these documents, and whatever concerns the whole collection. */
const changesOf = (names: readonly string[]): Document[] => [
  {
    $match: {
      $or: [{ 'documentKey._id': { $in: names } }, { operationType: { $nin: [...WRITES, 'delete'] } }],
    },
  },
  {
    $project: {
      operationType: 1,
      documentKey: 1,
      wake: { $ifNull: ['$updateDescription.updatedFields.wake', '$fullDocument.wake'] },
    },
  },
];
