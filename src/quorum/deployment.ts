import type { Engine } from '../engine.js';
import type { LockProviderHealth } from '../health.js';
import type { Observer } from '../observer.js';
import { mutexRules } from '../protocol/kinds/mutex-rules.js';
import { readerWriterRules } from '../protocol/kinds/reader-writer-rules.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { DocumentWatch } from '../store/streams/document-watch.js';
import type { DocumentWatcher } from '../store/streams/document-watch.js';
import { SeatHandle } from './seat-handle.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

/**
 * One MongoDB deployment as a store. Each deployment has an engine of its own, with its own lease monitor, release
 * queue and server clock.
 */
export class Deployment implements Store {
  readonly index: number;
  readonly #engine: Engine;
  readonly #watch: DocumentWatch;

  constructor(index: number, engine: Engine) {
    const { collection, clock, report } = engine.requester.context;
    const settings = engine.observing;
    this.index = index;
    this.#engine = engine;
    this.#watch = new DocumentWatch({ collection, settings, clock, report }, settings.wakeIdleMs);
  }

  async try({ name, kind, mode, durations, why }: SeatRequest): Promise<StoreSeat> {
    const isMutex = kind === 'mutex';
    return await this.#engine.requester.acquire(
      {
        name,
        durations,
        rules: isMutex ? mutexRules : readerWriterRules,
        demand: () => (isMutex ? {} : { mode }),
        makeHandle: (hold, owner, context) => new SeatHandle(hold, owner, context, this.index),
      },
      { timeoutMs: 0, why },
    );
  }

  watch(name: string, watcher: DocumentWatcher): () => void {
    return this.#watch.watch(name, watcher);
  }

  async inspect(name: string): Promise<LockSnapshot | null> {
    return await this.#engine.inspect(name);
  }

  unanswered(): Error {
    return this.#engine.requester.context.collection.unanswered();
  }

  /** Tells the observer of every extension of the seats. The returned function removes the observer. */
  observeExtensions(observer: Observer): () => void {
    return this.#engine.observation.add({ extended: (extension) => observer.extended?.(extension) });
  }

  health(): LockProviderHealth {
    const health = this.#engine.health();
    return { ...health, streams: health.streams + (this.#watch.isOpen ? 1 : 0) };
  }

  async close(drainMs: number): Promise<void> {
    await Promise.all([this.#watch.close(), this.#engine.close(drainMs)]);
  }
}
