import { keepAlive } from '../../keep-alive.js';
import { idOfProcess } from '../commands/object-id.js';
import { readCommand } from '../commands/read-command.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import type { Command, GivenCommand } from '../commands/command.js';
import type { Answer } from '../replica-set/reply.js';
import { SURROUNDINGS } from '../../surroundings.js';
import type { Surroundings } from '../../surroundings.js';
import { notSimulated, throwIfWriteConcernFailed } from './driver-errors.js';
import { refuseOtherDefaults, refuseOtherSettings } from './driver-options.js';
import type { Options } from './driver-options.js';
import { refusingOthers } from './refusing.js';
import type { Sender } from './sender.js';
import { SimulatedCollection } from './simulated-collection.js';

interface CommandOptions extends Options {
  readonly signal?: AbortSignal | undefined;
}

/** The part of the driver's `Db` that the library uses. */
export class SimulatedDatabase {
  /** A proxy of the client, in which every method that is not simulated throws an error. */
  readonly client: object;
  readonly databaseName: string;
  readonly #surroundings: Surroundings;
  readonly #sender: Sender;

  constructor(client: object, surroundings: Surroundings, sender: Sender, databaseName: string) {
    this.client = client;
    this.databaseName = databaseName;
    Object.assign(this, { [SURROUNDINGS]: surroundings });
    this.#surroundings = surroundings;
    this.#sender = sender;
  }

  async command(given: GivenCommand, options: CommandOptions = {}): Promise<Answer> {
    refuseOtherDefaults('Db.command', options);
    const { signal } = options;
    const { answer } = await this.#sender.send(this.#read(given), { signal });
    throwIfWriteConcernFailed(answer);
    return answer;
  }

  collection(name: string, options: Options = {}): SimulatedCollection {
    refuseOtherSettings('Db.collection', options);
    // The program awaits the calls of a collection, so they keep the process alive, as the sockets of a driver do. A
    // direct call of `command` does not: the library decides itself which of its calls keep the process alive.
    const collection = new SimulatedCollection(this.databaseName, name, {
      sender: this.#sender,
      command: (given) => keepAlive(this.command(given)),
      newId: () => idOfProcess(this.#surroundings.clock),
    });
    return refusingOthers(collection, 'Collection');
  }

  #read(given: GivenCommand): Command {
    try {
      return readCommand(given, this.databaseName);
    } catch (error) {
      throw error instanceof NotSimulatedError ? notSimulated(error) : error;
    }
  }
}
