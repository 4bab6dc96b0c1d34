import type { Command } from '../commands/command.js';
import type { SimulatedProcess } from '../processes/simulated-process.js';
import type { Answer, Reply } from '../replica-set/reply.js';
import type { Deployment } from './deployment.js';
import { errorOf, networkError } from './driver-errors.js';
import { Pool } from './pool.js';
import type { Topology } from './topology.js';

/** The codes by which a member says that it is not primary, or that it stops. */
const NOT_PRIMARY_CODES: readonly number[] = [189, 10_107, 11_600, 11_602, 13_435, 13_436];

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** The member to send to. Default: the primary. */
  readonly address?: string | undefined;
}

export interface Answered {
  readonly answer: Answer;
  readonly address: string;
}

/** Sends the commands of one client. Each command in flight has a connection of the pool for itself. */
export class Connections {
  readonly #process: SimulatedProcess;
  readonly #deployment: Deployment;
  readonly #topology: Topology;
  readonly #pool: Pool;
  /** For each command in flight, the function by which it fails when its connection is closed. */
  readonly #inFlight = new Set<(error: Error) => void>();

  constructor(process: SimulatedProcess, deployment: Deployment, topology: Topology, poolSize: number) {
    this.#process = process;
    this.#deployment = deployment;
    this.#topology = topology;
    this.#pool = new Pool(poolSize);
  }

  async send(command: Command, { signal, address: given }: SendOptions): Promise<Answered> {
    const address = given ?? (await this.#topology.primary(signal));
    const checkIn = await this.#pool.checkOut(signal);
    try {
      const reply = await this.#exchange(address, command, signal);
      if (reply.type === 'answer') return { answer: reply.document, address };
      const isDeposed = reply.type === 'failure' && NOT_PRIMARY_CODES.includes(reply.code);
      if (isDeposed || reply.type === 'disconnected') this.#topology.suspect(address);
      throw errorOf(reply);
    } finally {
      checkIn();
    }
  }

  closeAll(error: Error = networkError('the connection was closed')): void {
    for (const fail of [...this.#inFlight]) fail(error);
  }

  /** Called when the members have closed all connections that are open now. The process hears of it in a moment. */
  disconnected(): void {
    const broken = [...this.#inFlight];
    if (broken.length === 0) return;
    this.#process.receive(() => {
      for (const fail of broken) fail(networkError('the connection was closed'));
    });
  }

  /** Sends the command and waits for its reply. After an abort of the signal, the member may still run the command. */
  async #exchange(address: string, command: Command, signal: AbortSignal | undefined): Promise<Reply> {
    return await new Promise<Reply>((resolve, reject) => {
      const end = (): void => {
        this.#inFlight.delete(fail);
        signal?.removeEventListener('abort', giveUp);
      };
      const fail = (error: Error): void => {
        end();
        reject(error);
      };
      const giveUp = (): void => {
        fail(signal?.reason as Error);
      };
      this.#inFlight.add(fail);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#transmit(address, command, (reply) => {
        end();
        resolve(reply);
      });
    });
  }

  #transmit(address: string, command: Command, receive: (reply: Reply) => void): void {
    this.#process.send(() => {
      this.#deployment.run(address, command, (reply) => {
        const { isLost, delayMs } = this.#deployment.fateOfReply(command, reply);
        if (isLost) return;
        this.#process.receive(() => {
          receive(reply);
        }, delayMs);
      });
    });
  }
}
