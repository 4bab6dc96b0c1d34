import { readCommand } from '../commands/read-command.js';
import { NotSimulatedError } from '../server/server-error.js';
import type { Command, GivenCommand } from '../commands/command.js';
import type { Answer } from '../replica-set/reply.js';
import { SURROUNDINGS } from '../../surroundings.js';
import type { Surroundings } from '../../surroundings.js';
import { notSimulated } from './driver-errors.js';
import { refusingOthers } from './refusing.js';
import type { Sender } from './sender.js';
import { SimulatedCollection } from './simulated-collection.js';

interface CommandOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The client of a database, as its users see it. */
interface Client {
  readonly [SURROUNDINGS]: Surroundings;
}

/** The part of the driver's `Db` that the library uses. */
export class SimulatedDatabase {
  readonly client: Client;
  readonly databaseName: string;
  readonly [SURROUNDINGS]: Surroundings;
  readonly #sender: Sender;

  constructor(client: Client, sender: Sender, databaseName: string) {
    this.client = client;
    this.databaseName = databaseName;
    this[SURROUNDINGS] = client[SURROUNDINGS];
    this.#sender = sender;
  }

  async command(given: GivenCommand, { signal }: CommandOptions = {}): Promise<Answer> {
    const { answer } = await this.#sender.send(this.#read(given), { signal });
    return answer;
  }

  collection(name: string): SimulatedCollection {
    const collection = new SimulatedCollection(this.databaseName, name, this.#sender, (given) =>
      this.command(given),
    );
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
