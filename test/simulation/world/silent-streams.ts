import type { Readable } from 'node:stream';

import type { ChangeStream, Collection, Db } from 'mongodb';

import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import { withMethods } from '../../support/with-methods.js';

/** One change stream of a process, and the events that it has not shown yet. */
interface Stream {
  readonly held: unknown[];
  /** Shows what was held, as soon as the process does not stand still. */
  readonly release: () => void;
}

/** The words of an event that a process was shown. */
export interface ShownWords {
  /** The number of the process. */
  readonly worker: number | undefined;
  readonly wake: string;
  /** By the wall clock, in whole ms. */
  readonly atMs: number;
}

/** The change streams of all processes over one replica set. Silent ones answer, and show no events. */
export class SilentStreams {
  readonly shown: ShownWords[] = [];
  readonly #set: MemoryReplicaSet;
  readonly #open = new Set<Stream>();
  #isSilent = false;

  constructor(set: MemoryReplicaSet) {
    this.#set = set;
  }

  fallSilent(): void {
    this.#isSilent = true;
  }

  /** The streams show what they have held back, in order, and go on. */
  speak(): void {
    this.#isSilent = false;
    for (const { release } of this.#open) release();
  }

  /** The same collection, whose change streams may fall silent. */
  throughCollection(collection: Collection, db: Db, worker?: number): Collection {
    return withMethods(collection, {
      watch: (...args: Parameters<Collection['watch']>) =>
        this.#watched(collection.watch(...args), db, worker),
    });
  }

  #watched(stream: ChangeStream, db: Db, worker: number | undefined): ChangeStream {
    return withMethods(stream, { stream: () => this.#holding(stream, stream.stream(), db, worker) });
  }

  #holding(stream: ChangeStream, readable: Readable, db: Db, worker: number | undefined): Readable {
    const push = readable.push.bind(readable);
    const show = (event: unknown): boolean => {
      const { wake } = (event ?? {}) as { readonly wake?: unknown };
      if (typeof wake === 'string') this.shown.push({ worker, wake, atMs: this.#set.now().getTime() });
      return push(event);
    };
    const held: unknown[] = [];
    const release = (): void => {
      void this.#set.sleep(0, db).then(() => {
        if (this.#isSilent || readable.destroyed) return;
        for (const event of held.splice(0)) show(event);
      });
    };
    readable.push = (event: unknown): boolean => {
      if (!this.#isSilent && held.length === 0) return show(event);
      held.push(event);
      // As an answer without events.
      if (event !== null) stream.emit('resumeTokenChanged', undefined);
      return true;
    };
    const open = { held, release };
    this.#open.add(open);
    readable.once('close', () => this.#open.delete(open));
    return readable;
  }
}
