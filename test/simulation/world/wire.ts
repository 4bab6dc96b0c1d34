import type { Collection, Db, Document } from 'mongodb';

import type { Random } from '../../../lab/random.js';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import { Restore } from './restore.js';
import { SilentStreams } from './silent-streams.js';
import { withMethods } from '../../support/with-methods.js';

/** A request on its way: how it is sent, and how its late copy is. */
interface Request<T> {
  readonly send: () => Promise<T>;
  readonly sendLate: (messenger: Db) => Promise<unknown>;
  /** Aborts when the process does not wait for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** Whether a copy may arrive as well. */
  readonly mayComeTwice?: boolean;
  readonly command?: Document;
}

interface CommandOptions {
  readonly signal?: AbortSignal;
}

/** The writes that come twice: so many. */
interface Doubling {
  count: number;
  readonly random: Random;
}

/** So many of a hundred copies overtake their request, and the answer is that of the second to arrive. */
const OVERTAKING_PERCENT = 25;

/** So long at most after the one that arrives first, the other one does. */
const APART_MS = 200;

/** What happens to the writes of all processes on their way to one replica set. */
export class Wire {
  readonly #set: MemoryReplicaSet;
  /** A process that no fault befalls. It brings the late requests. */
  #messenger: Db | undefined;
  #toHold = 0;
  #toLose = 0;
  #isUnacknowledged = false;
  #doubling: Doubling | undefined;
  #held: ((messenger: Db) => Promise<unknown>)[] = [];
  readonly streams: SilentStreams;
  readonly restore: Restore;
  /** The requests that came twice. */
  readonly doubled: string[] = [];

  constructor(set: MemoryReplicaSet) {
    this.#set = set;
    this.streams = new SilentStreams(set);
    this.restore = new Restore(set, () => this.messenger);
  }

  /** The next writes arrive at `deliver`. Their processes hear nothing of them. */
  hold(count: number): void {
    this.#toHold = count;
  }

  deliver(): void {
    this.#toHold = 0;
    for (const sendLate of this.#held.splice(0)) sendLate(this.messenger).catch(() => undefined);
  }

  /** The next writes never arrive. */
  lose(count: number): void {
    this.#toLose = count;
  }

  /** The next writes arrive twice. */
  double(count: number, random: Random): void {
    this.#doubling = { count, random };
  }

  doubleNoMore(): void {
    this.#doubling = undefined;
  }

  /** From now on, the primary answers a group of updates at once, and says that no majority has it. */
  acknowledge(isSo: boolean): void {
    this.#isUnacknowledged = !isSo;
  }

  get messenger(): Db {
    return (this.#messenger ??= this.#set.db());
  }

  /** The same database, whose writes go over this wire. `worker`: the number of the process. */
  through(db: Db, worker?: number): Db {
    return withMethods(db, {
      collection: (name: string) => this.streams.throughCollection(db.collection(name), db, worker),
      command: async (command: Document, options: CommandOptions = {}) => {
        if (this.#isUnacknowledged && isGroup(command)) return await unacknowledged(db, command, options);
        const send = (): Promise<Document> => db.command(command, options);
        if (!isWrite(command)) return await send();
        const sendLate = ({ client }: Db): Promise<unknown> => client.db(db.databaseName).command(command);
        return await this.#carry({ send, sendLate, signal: options.signal, mayComeTwice: true, command });
      },
    });
  }

  /** The same collection, whose updates go over this wire. */
  throughCollection<T extends Document>(collection: Collection<T>): Collection<T> {
    const { dbName, collectionName } = collection;
    return withMethods(collection, {
      updateOne: async (...args: Parameters<Collection<T>['updateOne']>) =>
        await this.#carry({
          send: () => collection.updateOne(...args),
          sendLate: ({ client }) =>
            client
              .db(dbName)
              .collection<T>(collectionName)
              .updateOne(...args),
        }),
    });
  }

  async #carry<T>(request: Request<T>): Promise<T> {
    const { send, sendLate, signal, mayComeTwice } = request;
    if (this.#toHold > 0) {
      this.#toHold -= 1;
      this.#held.push(sendLate);
      return await unanswered(signal);
    }
    if (this.#toLose > 0) {
      this.#toLose -= 1;
      return await unanswered(signal);
    }
    const doubling = this.#doubling;
    if (mayComeTwice !== true || doubling === undefined || doubling.count === 0) return await send();
    doubling.count -= 1;
    return await this.#sendTwice(request, doubling);
  }

  /**
   * Both arrive before the process has an answer, unless it gives up before. Nobody repeats a request that was answered, so
   * a copy that comes later is no fault that can happen.
   */
  async #sendTwice<T>(request: Request<T>, { random }: Doubling): Promise<T> {
    const { send, sendLate, signal, command } = request;
    this.doubled.push(JSON.stringify(command));
    const copy = async (): Promise<void> => {
      await sendLate(this.messenger).catch(() => undefined);
    };
    const isOvertaken = random.percent(OVERTAKING_PERCENT);
    const apart = this.#set.sleep(random.between(0, APART_MS));
    const both = Promise.all([
      isOvertaken ? apart.then(send) : send(),
      isOvertaken ? copy() : apart.then(copy),
    ]);
    const [answer] = await Promise.race([both, unanswered(signal)]);
    return answer;
  }
}

const isWrite = (command: Document): boolean => 'update' in command || 'findAndModify' in command;

const isGroup = (command: Document): boolean => 'update' in command && command['ordered'] === false;

/** As a primary that waits for the other members for a shorter time than they need to elect another one. */
async function unacknowledged(db: Db, command: Document, options: CommandOptions): Promise<Document> {
  const answer = await db.command({ ...command, writeConcern: { w: 1 } }, options);
  return { ...answer, writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } };
}

const unanswered = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener(
      'abort',
      () => {
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
