import { MongoClient } from 'mongodb';

import { pause } from '../../lab/patience.js';
import type { RunLine } from './history.js';
import { nowNs } from './history.js';
import type { Journal } from './workload/journal.js';

/** As many documents as the library changes by its largest group. */
const DOCUMENTS = 64;

/** A probe takes about 20 ms on a fast machine, and 90 ms on a slow one. Workers give up after five times this bound. */
const SLOW_MS = 300;

const BETWEEN_PROBES_MS = 500;
const STEP_MS = 50;

/** A probe that has no answer by then fails. */
const BOUND_MS = 10_000;

const msSince = (ns: string): number => Number(BigInt(nowNs()) - BigInt(ns)) / 1e6;

/**
 * Measures, beside the workers and without the library, how long the store takes to change as many documents as the
 * largest group does. Writes each slow probe to the journal. No mild fault befalls a probe. So a slow probe shows a
 * machine that is too busy, on which any library would hear of its grants late.
 */
export class StoreProbe {
  readonly #client: MongoClient;
  readonly #database: string;
  readonly #journal: Journal<RunLine>;
  readonly #probing: Promise<void>;
  #isOver = false;

  constructor(uri: string, database: string, journal: Journal<RunLine>) {
    this.#client = new MongoClient(uri, {
      ...{ appName: 'leasehold-probe', w: 'majority', timeoutMS: BOUND_MS, retryWrites: false },
    });
    this.#database = database;
    this.#journal = journal;
    this.#probing = this.#probe();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#probing;
    await this.#client.db(this.#database).dropDatabase();
    await this.#client.close();
  }

  /** The proxies live in this process. If it stands still, the store does not answer, and no probe is on its way. */
  async #pause(): Promise<void> {
    for (let leftMs = BETWEEN_PROBES_MS; leftMs > 0; leftMs -= STEP_MS) {
      const sinceNs = nowNs();
      await pause(STEP_MS);
      if (msSince(sinceNs) > SLOW_MS) this.#journal.write({ type: 'store was slow', sinceNs });
    }
  }

  async #probe(): Promise<void> {
    const ids = Array.from({ length: DOCUMENTS }, (_, index) => index);
    const probes = this.#client.db(this.#database).collection<{ _id: number; at: string }>('probes');
    await probes.insertMany(ids.map((_id) => ({ _id, at: nowNs() })));
    while (!this.#isOver) {
      const sinceNs = nowNs();
      // A failure counts by its time, like an answer.
      await probes.updateMany({ _id: { $in: ids } }, { $set: { at: sinceNs } }).catch(() => undefined);
      if (msSince(sinceNs) > SLOW_MS) this.#journal.write({ type: 'store was slow', sinceNs });
      await this.#pause();
    }
  }
}
