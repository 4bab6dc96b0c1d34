import type { Collection, MongoClient } from 'mongodb';

import { fencedTransaction, fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import type { Order, Report } from './messages.js';

/** A pause between reading and writing back: values that are added meanwhile are lost. */
type Think = () => Promise<void>;

/** A set that is read, changed and written back under a lock. The result says whether that succeeded. */
export interface ProtectedSet {
  add(value: string, hold: LockHandle, think: Think): Promise<'ok' | 'fail' | 'unknown'>;
}

/** A set in the memory of the run's process, which compares no tokens: the lock alone protects it. */
export class MemorySet implements ProtectedSet {
  readonly #send: (report: Report) => void;
  readonly #open = new Map<number, (values: readonly string[]) => void>();
  #questions = 0;

  constructor(send: (report: Report) => void) {
    this.#send = send;
  }

  heard({ question, values }: Extract<Order, { do: 'hear' }>): void {
    this.#open.get(question)?.(values);
    this.#open.delete(question);
  }

  async add(value: string, { name }: LockHandle, think: Think): Promise<'ok'> {
    const values = await this.#ask(name);
    await think();
    await this.#ask(name, [...values, value]);
    return 'ok';
  }

  async #ask(lock: string, replaceBy?: readonly string[]): Promise<readonly string[]> {
    const question = (this.#questions += 1);
    return await new Promise((resolve) => {
      this.#open.set(question, resolve);
      this.#send({ says: 'ask', question, lock, replaceBy });
    });
  }
}

export interface StoredSet {
  readonly _id: string;
  readonly claims?: number;
  readonly values?: readonly string[];
}

/** A fenced set in MongoDB. It is claimed before it is read, so no older holder can write after that. */
export class FencedSet implements ProtectedSet {
  readonly #sets: Collection<StoredSet>;

  constructor(sets: Collection<StoredSet>) {
    this.#sets = sets;
  }

  async add(value: string, hold: LockHandle, think: Think): Promise<'ok' | 'fail' | 'unknown'> {
    const _id = hold.name;
    let hasWritten = false;
    try {
      await fencedUpdateOne(this.#sets, { _id }, { $inc: { claims: 1 } }, hold, { upsert: true });
      const stored = await this.#sets.findOne({ _id });
      await think();
      hasWritten = true;
      const values = [...(stored?.values ?? []), value];
      const { matchedCount } = await fencedUpdateOne(this.#sets, { _id }, { $set: { values } }, hold);
      return matchedCount === 1 ? 'ok' : 'fail';
    } catch (error) {
      if (error instanceof StaleTokenError || !hasWritten) return 'fail';
      return 'unknown';
    }
  }
}

/** A set in MongoDB that is changed in fenced transactions, which make the claim themselves. */
export class TransactedSet implements ProtectedSet {
  readonly #client: MongoClient;
  readonly #sets: Collection<StoredSet>;

  constructor(client: MongoClient, sets: Collection<StoredSet>) {
    this.#client = client;
    this.#sets = sets;
  }

  async add(value: string, hold: LockHandle, think: Think): Promise<'ok' | 'fail' | 'unknown'> {
    const _id = hold.name;
    const progress = { hasWorked: false };
    try {
      await fencedTransaction(
        this.#client,
        hold,
        async (session) => {
          progress.hasWorked = false;
          const stored = await this.#sets.findOne({ _id }, { session });
          await think();
          const values = [...(stored?.values ?? []), value];
          await this.#sets.updateOne({ _id }, { $set: { values } }, { session, upsert: true });
          progress.hasWorked = true;
        },
        { databaseName: this.#sets.dbName },
      );
      return 'ok';
    } catch (error) {
      // Without its commit, the transaction is undone.
      return error instanceof StaleTokenError || !progress.hasWorked ? 'fail' : 'unknown';
    }
  }
}
