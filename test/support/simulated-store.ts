import type { DbOptions, MongoClient, MongoClientOptions } from 'mongodb';

import { surroundingsOf } from '../../src/surroundings.js';
import { MemoryReplicaSet } from '../../src/testing/index.js';
import { violationsIn } from '../../src/testing/judge/violations.js';
import { waitBy } from '../../lab/patience.js';
import { drawSeed } from './seed.js';
import { isSimulated } from './on-servers.js';

/** The next goal is set when this much time has passed. What falls due meanwhile happens at its own instant. */
const STEP_MS = 10;

/**
 * The replica set in memory that all tests of a file share, and its other sets with the same time. While a test is
 * running, time passes by itself from one event to the next, so a test that waits for a minute takes milliseconds.
 */
class SimulatedStore {
  readonly #set = new MemoryReplicaSet({ time: 'virtual', seed: drawSeed('a replica set in memory') });
  readonly #sets: MemoryReplicaSet[] = [this.#set];
  readonly #tampered = new Set<string>();
  /** How many databases are open. */
  #users = 0;
  #names = 0;

  constructor() {
    const { clock } = surroundingsOf(this.#set.db());
    waitBy({
      nowMs: () => clock.nowMs(),
      after: (ms, fire) => {
        const timer = clock.at(clock.nowMs() + ms, fire);
        return () => {
          timer.cancel();
        };
      },
    });
  }

  /** A number that no other name has. It is the same in each run. */
  nextName(): string {
    this.#names += 1;
    return String(this.#names);
  }

  /** A client of one more process. */
  client(options: MongoClientOptions, dbOptions: DbOptions | undefined): MongoClient {
    const [other] = Object.keys({ ...options, ...dbOptions }).filter((option) => option !== 'appName');
    if (other !== undefined) throw new Error(`the option ${other} has no effect in memory`);
    return this.#set.db().client;
  }

  /** One more replica set with the same time. Its seed follows from that of the first one. */
  anotherSet(): MemoryReplicaSet {
    const seed = (this.#set.seed + this.#sets.length) % 2 ** 32;
    const set = new MemoryReplicaSet({ time: this.#set, seed });
    this.#sets.push(set);
    return set;
  }

  /**
   * Time passes until the returned function is called. That function throws if any version of the documents of this
   * database has broken an invariant. It judges all of them, because each is compared with the one before it, which may
   * be from an earlier test.
   */
  open(database: string): () => void {
    this.#users += 1;
    if (this.#users === 1) void this.#passTime();
    return () => {
      this.#users -= 1;
      const broken = this.#tampered.has(database) ? [] : this.#violationsIn(database);
      if (broken.length > 0) throw new Error(`invariants are broken:\n${broken.join('\n')}`);
    };
  }

  /** Time stands still from now on, also for a test that has not ended in time. */
  stop(): void {
    this.#users = -Infinity;
  }

  /** Documents of this database are changed without the library, so their versions are not judged. */
  tampered(database: string): void {
    this.#tampered.add(database);
  }

  #violationsIn(database: string): readonly string[] {
    return this.#sets.flatMap(({ versions }) => {
      const own = versions.filter(({ namespace }) => namespace.startsWith(`${database}.`));
      return violationsIn(own).map(({ invariant, id, what }) => `${invariant}, ${String(id)}: ${what}`);
    });
  }

  async #passTime(): Promise<void> {
    while (this.#users > 0) await this.#set.advance(STEP_MS);
  }
}

/** That of the test file that runs now; `undefined` if the tests run on a real server. */
export let simulatedStore: SimulatedStore | undefined;

/** Files of one process share nothing that is drawn or counted, so each can be repeated alone from its seed. */
export function renewSimulatedStore(): void {
  simulatedStore?.stop();
  if (isSimulated) simulatedStore = new SimulatedStore();
}
