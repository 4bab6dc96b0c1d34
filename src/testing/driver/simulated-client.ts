import { EventEmitter } from 'node:events';
import type { Command } from '../commands/command.js';
import type { SimulatedProcess } from '../processes/simulated-process.js';
import { SURROUNDINGS } from '../../surroundings.js';
import { Connections } from './connections.js';
import type { Answered, SendOptions } from './connections.js';
import type { Deployment } from './deployment.js';
import { clientClosed, interrupted, notConnected } from './driver-errors.js';
import { refuseOtherSettings, refuseUnlessKnown } from './driver-options.js';
import type { Options } from './driver-options.js';
import { refusingOthers } from './refusing.js';
import type { Sender } from './sender.js';
import { SimulatedDatabase } from './simulated-database.js';
import { Topology } from './topology.js';

/** The driver's default for `maxPoolSize`. */
const MAX_POOL_SIZE = 100;

interface Session {
  inTransaction(): boolean;
  endSession(): Promise<void>;
}

/** The part of the driver's `MongoClient` that the library uses, for one simulated process. */
export class SimulatedClient extends EventEmitter implements Sender {
  readonly options: object;
  readonly process: SimulatedProcess;
  /** Set while the client is connected, as in the driver. */
  topology: Topology | undefined;
  /** A proxy of this client, in which every method that is not simulated throws an error. */
  readonly #face: this;
  readonly #topology: Topology;
  readonly #connections: Connections;
  #isClosed = false;

  constructor(process: SimulatedProcess, deployment: Deployment) {
    super();
    this.setMaxListeners(0);
    this.process = process;
    Object.assign(this, { [SURROUNDINGS]: process });
    this.#face = refusingOthers(this, 'MongoClient');
    const hosts = [...deployment.roles().keys()];
    this.options = { hosts, replicaSet: deployment.setName, maxPoolSize: MAX_POOL_SIZE };
    this.#topology = new Topology(process, deployment, {
      changed: (change) => {
        this.emit('topologyDescriptionChanged', change);
      },
      givenUp: () => {
        this.#connections.closeAll(interrupted());
      },
    });
    this.#connections = new Connections(process, deployment, this.#topology, MAX_POOL_SIZE);
  }

  db(name = 'test', options: Options = {}): SimulatedDatabase {
    refuseOtherSettings('MongoClient.db', options);
    return refusingOthers(new SimulatedDatabase(this.#face, this.process, this, name), 'Db');
  }

  connect(): Promise<this> {
    this.#isClosed = false;
    this.#open();
    return Promise.resolve(this.#face);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.topology = undefined;
    this.#topology.close();
    this.#connections.closeAll(clientClosed());
    this.emit('topologyClosed', {});
    return Promise.resolve();
  }

  startSession(options: Options = {}): Session {
    refuseUnlessKnown('startSession', options, ['causalConsistency']);
    const session = { inTransaction: () => false, endSession: () => Promise.resolve() };
    return refusingOthers(session, 'ClientSession');
  }

  async send(command: Command, options: SendOptions): Promise<Answered> {
    if (this.#isClosed) throw notConnected();
    options.signal?.throwIfAborted();
    this.#open();
    const { name: commandName, given } = command;
    this.emit('commandStarted', { commandName, command: given });
    return await this.#connections.send(command, options);
  }

  membersChanged(): void {
    if (this.topology !== undefined) this.#topology.changed();
  }

  cut(): void {
    this.process.cut();
    if (this.topology !== undefined) this.#topology.cut();
  }

  /** The process reaches the members again, over new connections. If it stands still, it learns so when it goes on. */
  heal(): void {
    this.process.heal();
    this.process.hear(() => {
      if (this.process.isCut) return;
      this.#connections.closeAll();
      if (this.topology !== undefined) this.#topology.healed();
    });
  }

  /** All members have stopped. */
  disconnected(): void {
    this.#connections.disconnected();
  }

  #open(): void {
    if (this.topology !== undefined) return;
    this.topology = this.#topology;
    this.#topology.open();
  }
}
