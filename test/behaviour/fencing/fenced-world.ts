import type { Collection } from 'mongodb';

import type { LockHandle, LockProvider } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';

/** A document of the application. */
export interface Account {
  readonly _id: string;
  readonly cents?: number;
  readonly notes?: readonly string[];
  readonly fencingToken?: unknown;
  readonly meta?: unknown;
}

/** A resource, locks, and successive holders of one lock. */
export class FencedWorld extends OwnDatabase {
  readonly own: OwnClient;
  readonly locks: LockProvider;
  readonly accounts: Collection<Account>;

  constructor(uri?: string) {
    super(uri);
    this.own = this.client();
    this.locks = this.own.provider();
    this.accounts = this.own.db.collection<Account>('accounts');
  }

  /** Successive holders of one lock. All but the last have released it. */
  async holders(count: number, name = 'x'): Promise<readonly LockHandle[]> {
    const mutex = this.locks.createMutex(name);
    const handles: LockHandle[] = [];
    for (let index = 0; index < count; index += 1) {
      await handles.at(-1)?.release();
      handles.push(await mutex.acquire());
    }
    return handles;
  }

  /** An older holder, which acts as if it still held the lock, and its successor. */
  async staleAndNewer(name = 'x'): Promise<readonly [stale: LockHandle, newer: LockHandle]> {
    const [stale, newer] = await this.holders(2, name);
    if (stale === undefined || newer === undefined) throw new Error('two were asked for');
    return [stale, newer];
  }

  async holder(name = 'x'): Promise<LockHandle> {
    return await this.locks.acquireMutex(name);
  }

  async account(id: string): Promise<Account | null> {
    return await this.plain.db.collection<Account>('accounts').findOne({ _id: id });
  }
}
