import { MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import type { Document } from 'mongodb';

import { eventually, within } from '../patience.js';
import { setFakeClock } from './fake-time.js';
import type { FaultProxy } from './fault-proxy.js';
import type { MongodProcess } from './mongod-process.js';

/** One mongod of the set, and what can be done to it. */
export interface FaultMember {
  readonly index: number;
  /** As in the config: the proxy's. */
  readonly host: string;
  /** Past the proxy, direct connection: for the nemesis and the checkers. */
  readonly directUri: string;
  readonly proxy: FaultProxy;
  /** Past the proxy. */
  readonly port: number;
  /** False while killed, or when it ended by itself. */
  readonly isRunning: boolean;
  /** By SIGSTOP. */
  readonly isStopped: boolean;
  readonly pid: number;
  /** SIGKILL, resolves when gone. */
  kill(): Promise<void>;
  /** On the same port and data; resolves when it answers. */
  restart(): Promise<void>;
  stop(): void;
  continue(): void;
  /** By force and past the proxy; a closed connection is no failure, nor that it is no primary any more. */
  stepDown(): Promise<void>;
  /** Stands for election at once, whether there is a primary or not; whether it won. */
  stepUp(): Promise<boolean>;
  /** One command on the member itself, past the proxy; rejects if it is not answered within the bound (default 5 s). */
  admin(command: Document, boundMs?: number): Promise<Document>;
  /** In the format of libfaketime: '+30s', '-10s', '+0', '+0 x1.1'. */
  setClock(offset: string): Promise<void>;
}

const ADMIN_MS = 5_000;
const START_MS = 60_000;
const LOOK_MS = 2_000;
/** For how long it does not stand for election again; the shortest that leaves the others time to catch up. */
const STEP_DOWN_SECONDS = 3;
const CATCH_UP_SECONDS = 1;
const NOT_PRIMARY = 10_107;

export class ControlledMember implements FaultMember {
  readonly index: number;
  readonly proxy: FaultProxy;
  readonly #mongod: MongodProcess;
  readonly #clockFile: string | undefined;
  #client: MongoClient;

  /** `clockFile`: undefined if it does not run under libfaketime. */
  constructor(index: number, proxy: FaultProxy, mongod: MongodProcess, clockFile: string | undefined) {
    this.index = index;
    this.proxy = proxy;
    this.#mongod = mongod;
    this.#clockFile = clockFile;
    this.#client = this.#newClient();
  }

  get host(): string {
    return `127.0.0.1:${this.proxy.port}`;
  }

  get port(): number {
    return this.#mongod.plan.port;
  }

  get directUri(): string {
    return `mongodb://127.0.0.1:${this.port}/?directConnection=true`;
  }

  get isRunning(): boolean {
    return this.#mongod.isRunning;
  }

  get isStopped(): boolean {
    return this.#mongod.isStopped;
  }

  get pid(): number {
    return this.#mongod.pid;
  }

  async kill(): Promise<void> {
    await this.#mongod.kill();
    await this.#client.close();
  }

  async restart(): Promise<void> {
    if (this.isRunning) return;
    await this.#client.close();
    this.#client = this.#newClient();
    this.#mongod.start();
    try {
      await eventually(`member ${this.index} answers after its start`, () => this.#answers(), START_MS);
    } catch (cause) {
      throw new Error(`${String(cause)}; it said last:\n${await this.#mongod.lastWords()}`, { cause });
    }
  }

  stop(): void {
    this.#mongod.stop();
  }

  continue(): void {
    this.#mongod.continue();
  }

  async stepDown(): Promise<void> {
    const command = {
      replSetStepDown: STEP_DOWN_SECONDS,
      secondaryCatchUpPeriodSecs: CATCH_UP_SECONDS,
      force: true,
    };
    try {
      await this.admin(command, 2 * ADMIN_MS);
    } catch (error) {
      const isNoPrimary = error instanceof MongoServerError && error.code === NOT_PRIMARY;
      if (!isNoPrimary && !(error instanceof MongoNetworkError)) throw error;
    }
  }

  async stepUp(): Promise<boolean> {
    return await this.admin({ replSetStepUp: 1 }, 2 * ADMIN_MS).then(
      () => true,
      (error: unknown) => {
        if (error instanceof MongoServerError) return false;
        throw error;
      },
    );
  }

  async admin(command: Document, boundMs = ADMIN_MS): Promise<Document> {
    if (!this.isRunning) throw new Error(`member ${this.index} does not run`);
    const answer = this.#client.db('admin').command(command, { timeoutMS: boundMs });
    return await within(boundMs + 500, `member ${this.index} answers ${Object.keys(command).join()}`, answer);
  }

  async setClock(offset: string): Promise<void> {
    if (this.#clockFile === undefined) throw new Error('the members do not run under libfaketime');
    setFakeClock(this.#clockFile, offset);
    return Promise.resolve();
  }

  /** Its mongod, its proxy and its client end, in whatever state they are. */
  async end(): Promise<void> {
    await this.kill();
    await this.proxy.close();
  }

  async #answers(): Promise<boolean> {
    if (!this.isRunning) {
      throw new Error(`member ${this.index} ended at its start:\n${await this.#mongod.lastWords()}`);
    }
    // One of its own for each look: what began before the mongod listens may wait for half a minute, and no look after
    // it would have a connection.
    const bound = { serverSelectionTimeoutMS: LOOK_MS, connectTimeoutMS: LOOK_MS, socketTimeoutMS: LOOK_MS };
    const client = new MongoClient(this.directUri, bound);
    const answer = client.db('admin').command({ ping: 1 });
    const isAnswered = await within(2 * LOOK_MS, 'an answer', answer).then(
      () => true,
      () => false,
    );
    await client.close();
    return isAnswered;
  }

  #newClient(): MongoClient {
    return new MongoClient(this.directUri, { serverSelectionTimeoutMS: ADMIN_MS, maxPoolSize: 4 });
  }
}
