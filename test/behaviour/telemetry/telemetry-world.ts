import type { Db } from 'mongodb';
import { afterEach, beforeEach } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { LockProviderOptions } from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { untilSettled } from '../testing/fleet.js';
import { Recorder } from './recorder.js';

/** What one test of telemetry works with: a set in virtual time, its processes, and what the SDK records of them. */
class TelemetryWorld {
  readonly set: MemoryReplicaSet;
  readonly recorder: Recorder = new Recorder();
  readonly #providers: (LockProvider | QuorumLockProvider)[] = [];

  constructor(seed: number) {
    this.set = new MemoryReplicaSet({ time: 'virtual', seed });
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return untilSettled(this.set, promise);
  }

  provider(options: LockProviderOptions, db: Db): LockProvider {
    const locks = new LockProvider(db, { leaseMs: 10_000, ...options });
    for (const event of ['lost', 'storeError'] as const) locks.on(event, () => undefined);
    this.#providers.push(locks);
    return locks;
  }

  quorum(dbs: readonly Db[]): QuorumLockProvider {
    const locks = new QuorumLockProvider(dbs, { leaseMs: 10_000 });
    for (const event of ['lost', 'storeError', 'wakeups'] as const) locks.on(event, () => undefined);
    this.#providers.push(locks);
    return locks;
  }

  async closeProviders(): Promise<void> {
    await this.until(Promise.all(this.#providers.splice(0).map((locks) => locks.close({ drainMs: 0 }))));
  }
}

/** The world of the running test. Each test has its own, which is closed after it. */
export interface RunningWorld {
  readonly set: MemoryReplicaSet;
  readonly recorder: Recorder;
  /** Lets time pass until the promise settles. */
  readonly until: <T>(promise: Promise<T>) => Promise<T>;
  /** A process that uses the set, by this connection or by one of its own. */
  readonly provider: (options?: LockProviderOptions, db?: Db) => LockProvider;
  /** A process that uses a quorum of these databases. */
  readonly quorum: (dbs: readonly Db[]) => QuorumLockProvider;
  /** For a test that closes what its providers use. */
  readonly closeProviders: () => Promise<void>;
}

/** Makes a world for each test of the file that calls this. */
export function useTelemetryWorld(seed: number): RunningWorld {
  let world: TelemetryWorld;
  beforeEach(() => {
    world = new TelemetryWorld(seed);
  });
  afterEach(async () => {
    await world.closeProviders();
    await world.set.close();
  });
  return {
    get set() {
      return world.set;
    },
    get recorder() {
      return world.recorder;
    },
    until: (promise) => world.until(promise),
    provider: (options = {}, db = world.set.db('app')) => world.provider(options, db),
    quorum: (dbs) => world.quorum(dbs),
    closeProviders: () => world.closeProviders(),
  };
}
