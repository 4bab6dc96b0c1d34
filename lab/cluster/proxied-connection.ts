import { connect } from 'node:net';
import type { Socket } from 'node:net';

import type { Document } from 'mongodb';

import type { Direction, Request } from './wire-traffic.js';
import { Lane } from './lane.js';
import type { Obstacles } from './lane.js';
import {
  bodyOf,
  commandOf,
  cursorIdOf,
  isRequest,
  MessageCutter,
  openedCursorOf,
  requestIdOf,
  responseToOf,
} from './wire-message.js';

/** Whose connection it is. */
export type Side = 'clients' | 'members';

export interface Sender {
  readonly side: Side;
  /** Of a member the port of its mongod; of a client what its driver calls itself. */
  readonly id: number | string | undefined;
}

/** What is to be done with a request. */
export type Treatment =
  | 'pass'
  /** Told when the reply has been thrown away. */
  | { readonly dropped: () => void }
  /** Told what was kept back. */
  | { readonly held: (request: HeldRequest) => void };

/** What all connections of a proxy go by. */
export interface Rules {
  readonly serverPort: number;
  isCut(sender: Sender): boolean;
  obstacles(sender: Sender, direction: Exclude<Direction, 'both'>): Obstacles;
  /** Whether `treat` may answer something else than 'pass': only then are requests decoded. */
  readonly mayTreat: boolean;
  treat(request: Request): Treatment;
  /** Of the change streams that were opened through the proxy. */
  readonly streamCursors: Set<bigint>;
}

/** Kept back on its way to the server. */
export interface HeldRequest {
  /** Whether the server answered it. */
  deliver(): Promise<boolean>;
  /** Its connection is closed: a client that still waits would otherwise wait for good. */
  discard(): void;
}

/**
 * A connection to the proxy and the one from there to the server, which is opened when the first message has shown
 * whose it is. The closing of either side travels the lanes like all else, so what was sent before it still arrives,
 * and a frozen lane hides it.
 */
export class ProxiedConnection {
  readonly #client: Socket;
  readonly #rules: Rules;
  readonly #onOver: () => void;
  #sender: Sender | undefined;
  #server: Socket | undefined;
  #requests: Lane | undefined;
  #replies: Lane | undefined;
  #isFrozen = false;
  #clientHasEnded = false;
  #isDestroyed = false;
  #carriesStream = false;
  /** The request that opens a change stream; its reply names the cursor. */
  #opening: number | undefined;
  /** What to call instead of passing the reply to this request on. */
  readonly #drops = new Map<number, () => void>();
  /** Called with whether this request was answered, besides the client. */
  readonly #delivered = new Map<number, (isAnswered: boolean) => void>();
  readonly #held = new Set<HeldRequest>();

  constructor(client: Socket, rules: Rules, onOver: () => void) {
    this.#client = client;
    this.#rules = rules;
    this.#onOver = onOver;
    client.setNoDelay(true);
    this.#read(client, (message) => {
      this.#request(message);
    });
    client.on('end', () => {
      this.#endOfClient();
    });
    client.on('close', () => {
      this.#endOfClient();
      this.#closed();
    });
  }

  /** Undefined until its first message has come. */
  get sender(): Sender | undefined {
    return this.#sender;
  }

  /** Whether the client has not closed it. */
  get isOpen(): boolean {
    return !this.#clientHasEnded && !this.#isDestroyed;
  }

  /** Whether a change stream's command is outstanding or was the last one. */
  get carriesStream(): boolean {
    return this.#sender?.side === 'clients' && this.isOpen && this.#carriesStream;
  }

  destroy(): void {
    this.#isDestroyed = true;
    // A reset while it is being shut down fails, and leaves a handle with which the process cannot end.
    if (this.#client.writableEnded) this.#client.destroy();
    else this.#client.resetAndDestroy();
    this.#server?.destroy();
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  /** Lanes look at the rules anew. */
  heal(): void {
    this.#isFrozen = false;
    this.#requests?.hurry();
    this.#replies?.hurry();
  }

  #read(socket: Socket, take: (message: Buffer) => void): void {
    const cutter = new MessageCutter();
    socket.on('data', (chunk) => {
      try {
        for (const message of cutter.push(chunk)) if (!this.#isDestroyed) take(message);
      } catch {
        this.destroy();
      }
    });
    // What is to be done about it is done at its close, which follows.
    socket.on('error', () => undefined);
  }

  #request(message: Buffer): void {
    this.#sender ??= senderOf(message);
    if (this.#rules.isCut(this.#sender)) {
      this.destroy();
      return;
    }
    const requests = this.#requests ?? this.#open(this.#sender);
    if (this.#sender.side === 'members') {
      requests.push(message);
      return;
    }
    this.#noteStream(message);
    const treatment = this.#treatment(message);
    if (treatment !== 'pass' && 'held' in treatment) {
      treatment.held(this.#hold(message));
      return;
    }
    if (treatment !== 'pass') this.#drops.set(requestIdOf(message), treatment.dropped);
    requests.push(message);
  }

  #open(sender: Sender): Lane {
    const server = connect({
      host: '127.0.0.1',
      port: this.#rules.serverPort,
      noDelay: true,
      allowHalfOpen: true,
    });
    this.#server = server;
    const requests = new Lane(this.#client, server, () => this.#obstacles(sender, 'requests'));
    const replies = new Lane(server, this.#client, () => this.#obstacles(sender, 'replies'));
    this.#requests = requests;
    this.#replies = replies;
    this.#read(server, (message) => {
      this.#reply(message, replies);
    });
    server.on('end', () => {
      replies.end();
    });
    server.on('close', () => {
      replies.end();
      this.#closed();
    });
    return requests;
  }

  #obstacles(sender: Sender, direction: Exclude<Direction, 'both'>): Obstacles {
    const { isFrozen, slow } = this.#rules.obstacles(sender, direction);
    return { isFrozen: isFrozen || this.#isFrozen, slow };
  }

  #treatment(message: Buffer): Treatment {
    if (!this.#rules.mayTreat || !isRequest(message)) return 'pass';
    const body = bodyOf(message);
    const command = commandOf(message);
    if (body === undefined || command === undefined) return 'pass';
    return this.#rules.treat({ command, database: String(body['$db']), body });
  }

  #noteStream(message: Buffer): void {
    const command = commandOf(message);
    const isOpening = command === 'aggregate' && message.includes('$changeStream');
    if (isOpening) this.#opening = requestIdOf(message);
    this.#carriesStream =
      isOpening || (command === 'getMore' && this.#rules.streamCursors.has(cursorIdOf(message)));
  }

  #reply(message: Buffer, replies: Lane): void {
    const requestId = responseToOf(message);
    const drop = this.#drops.get(requestId);
    if (drop !== undefined) {
      drop();
      this.destroy();
      return;
    }
    if (requestId === this.#opening) {
      const cursorId = openedCursorOf(message);
      if (cursorId !== undefined) this.#rules.streamCursors.add(cursorId);
      this.#opening = undefined;
    }
    replies.push(message);
    this.#delivered.get(requestId)?.(true);
  }

  #hold(message: Buffer): HeldRequest {
    const held: HeldRequest = {
      deliver: async () => {
        const isAnswered = await this.#deliver(message);
        this.#letGo(held);
        return isAnswered;
      },
      discard: () => {
        this.#letGo(held);
        this.destroy();
      },
    };
    this.#held.add(held);
    return held;
  }

  async #deliver(message: Buffer): Promise<boolean> {
    if (this.#server === undefined || this.#server.destroyed) return false;
    const requestId = requestIdOf(message);
    const answered = new Promise<boolean>((resolve) => this.#delivered.set(requestId, resolve));
    this.#requests?.push(message);
    const isAnswered = await answered;
    this.#delivered.delete(requestId);
    return isAnswered;
  }

  #letGo(held: HeldRequest): void {
    this.#held.delete(held);
    if (this.#clientHasEnded) this.#endOfClient();
  }

  /** As long as a request is held, the server does not learn that the client has gone. */
  #endOfClient(): void {
    this.#clientHasEnded = true;
    if (this.#held.size === 0) this.#requests?.end();
    // Nobody is there on the other side who would close it.
    if (this.#server === undefined) this.#client.end();
  }

  #closed(): void {
    if (this.#server?.closed === true) for (const settle of this.#delivered.values()) settle(false);
    if (this.#client.closed && this.#server?.closed !== false) this.#onOver();
  }
}

/**
 * A member says which wire versions it can speak as one, and, where test commands are enabled, on which port it listens;
 * all other handshakes are of drivers.
 */
function senderOf(firstMessage: Buffer): Sender {
  const body = bodyOf(firstMessage);
  if (body?.['internalClient'] === undefined) return { side: 'clients', id: driverOf(body) };
  return { side: 'members', id: Number(/:(\d+)$/.exec(String(body['hostInfo']))?.[1]) };
}

/** The name that it was given besides its own. */
function driverOf(hello: Document | undefined): string | undefined {
  const { driver } = (hello?.['client'] ?? {}) as { readonly driver?: { readonly name: string } };
  return driver?.name.split('|')[1];
}
