import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { freePort } from '../../../lab/ports.js';

/** Where a server listens, as its URI says. */
function addressOf(uri: string): { readonly host: string; readonly port: number } {
  const [, host = '127.0.0.1', port = '27017'] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,]+):(\d+)/.exec(uri) ?? [];
  return { host, port: Number(port) };
}

/**
 * A port in front of a real server. While the door is shut, connections are refused. While it is open, clients reach
 * the server. While it is stuck, connections stay open, but no data passes.
 */
export class Door implements AsyncDisposable {
  readonly port: number;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isStuck = false;

  private constructor(port: number, uri: string) {
    this.port = port;
    this.#target = addressOf(uri);
  }

  /** Returns a door that is shut. */
  static async to(uri: string): Promise<Door> {
    return new Door(await freePort(), uri);
  }

  /** The URI of the server behind the door. Clients do not look for its other members. */
  get uri(): string {
    return `mongodb://127.0.0.1:${String(this.port)}/?directConnection=true`;
  }

  async open(): Promise<this> {
    const server = createServer((client) => {
      this.#forward(client);
    });
    this.#server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    return this;
  }

  /** Ends all connections, and refuses later ones. */
  async shut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server === undefined) return;
    server.close();
    await once(server, 'close');
  }

  /** Holds up all data in both directions, and ends no connection. */
  stick(): void {
    this.#isStuck = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Lets the data pass that was held up. */
  unstick(): void {
    this.#isStuck = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shut();
  }

  #forward(client: Socket): void {
    const server = connect(this.#target);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (data) => to.write(data));
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isStuck) from.pause();
    }
  }
}
