import type { Db } from 'mongodb';
import { beforeEach } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { simulatedStore } from '../../support/simulated-store.js';
import type { Deployment } from './deployment.js';

const COUNT = 3;

/** Replica sets in memory with the time of the test file. After each test, all versions of this database are judged. */
export function simulatedDeployments(database: string): readonly Deployment[] {
  const store = simulatedStore;
  if (store === undefined) throw new Error('the tests of this file do not run in memory');
  beforeEach(() => {
    whenTestEnds(store.open(database));
  });
  return Array.from({ length: COUNT }, () => new SimulatedDeployment(store.anotherSet()));
}

class SimulatedDeployment implements Deployment {
  readonly #set: MemoryReplicaSet;
  /** The databases of the running test, each of a process of its own. */
  readonly #dbs = new Set<Db>();
  #hangs = false;

  constructor(set: MemoryReplicaSet) {
    this.#set = set;
  }

  kill(): Promise<void> {
    this.#set.stop();
    return Promise.resolve();
  }

  hang(): void {
    this.#hangs = true;
    for (const db of this.#dbs) this.#set.cut(db);
  }

  delay(ms: number): void {
    this.#set.delayReplies(ms);
  }

  async heal(): Promise<void> {
    this.#set.delayReplies(0);
    if (this.#hangs) for (const db of this.#dbs) this.#set.heal(db);
    this.#hangs = false;
    this.#set.start();
    const db = this.db('admin');
    await eventually('the deployment takes writes', async () => {
      const { isWritablePrimary } = await db.command({ hello: 1 });
      return isWritablePrimary === true;
    });
  }

  db(name: string): Db {
    const db = this.#set.db(name);
    this.#dbs.add(db);
    if (this.#hangs) this.#set.cut(db);
    whenTestEnds(async () => {
      this.#dbs.delete(db);
      await db.client.close();
    });
    return db;
  }

  now(): Date {
    return this.#set.now();
  }
}
