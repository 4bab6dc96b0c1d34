import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';

import type { Obstacles } from './lane.js';
import { ProxiedConnection } from './proxied-connection.js';
import type { Direction, Request, Slow } from './wire-traffic.js';
import type { HeldRequest, Rules, Sender, Side, Treatment } from './proxied-connection.js';

/** Whose connections: those of drivers, those that other members open, both, or those of one other member or one client. */
export type Traffic = 'clients' | 'members' | 'all' | OneMember | OneClient;
export interface OneMember {
  /** The port of its mongod, not of its proxy. */
  readonly memberPort: number;
}
interface OneClient {
  /** What its driver calls itself, by `driverInfo`. */
  readonly driver: string;
}
/** Stands before one member, so that whatever reaches it over the network can be disturbed. */
export interface FaultProxy {
  readonly port: number;
  /** Closes what is open and refuses what comes: a new connection is reset, as soon as it shows whose it is. */
  cut(traffic: Traffic): void;
  /** Passes nothing on and closes nothing: half-open. */
  freeze(traffic: Traffic, direction?: Direction): void;
  /** Each way and each connection by itself; later data of a connection never overtakes earlier data. */
  delay(traffic: Traffic, slow: Slow): void;
  /**
   * The server gets and applies the next `times` matching requests of clients; their replies are thrown away and the
   * connections then closed.
   */
  dropReplies(times: number, matches: Match): Dropping;
  /**
   * Keeps the next `times` matching requests of clients back, also after the client has closed its connection;
   * `deliver` sends them to the server then.
   */
  holdRequests(times: number, matches: Match): Holding;
  /** Closes the client connections that have a change stream's command outstanding or did one last; how many. */
  cutStreams(): number;
  /** Freezes only those which do now. */
  freezeStreams(): void;
  /**
   * Every fault off. Held requests are thrown away and their connections closed. Frozen bytes are delivered, also
   * those of a sender that has closed since, as a network would do it; they are dropped if the receiver has closed.
   */
  heal(): void;
  readonly connections: { readonly clients: number; readonly members: number };
  close(): Promise<void>;
}

export type Match = (request: Request) => boolean;

export interface Dropping {
  /** How many replies were thrown away so far. */
  readonly dropped: number;
  /** Matches nothing more; what was matched already is still dropped. */
  cancel(): void;
}

export interface Holding {
  /** How many are held now. */
  readonly held: number;
  /** Resolves when the server has answered them, or can no longer; how many it answered. Holds no more from then on. */
  deliver(): Promise<number>;
}

/** A proxy before the server on this port of this machine. */
export async function startFaultProxy(serverPort: number): Promise<FaultProxy> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new Proxy(server, serverPort);
}

const SIDES: Readonly<Record<'clients' | 'members' | 'all', readonly Side[]>> = {
  clients: ['clients'],
  members: ['members'],
  all: ['clients', 'members'],
};

const idOf = (one: OneMember | OneClient): number | string => ('driver' in one ? one.driver : one.memberPort);

/** What stands in the way of the connections of one side, or of one member or client. */
interface Blockade {
  isCut: boolean;
  freezes: { requests: boolean; replies: boolean };
  slow: Slow | undefined;
}

const noBlockade = (): Blockade => ({
  isCut: false,
  freezes: { requests: false, replies: false },
  slow: undefined,
});

class Proxy implements FaultProxy, Rules {
  readonly port: number;
  readonly serverPort: number;
  readonly streamCursors: Set<bigint> = new Set<bigint>();
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();
  #blockades = { clients: noBlockade(), members: noBlockade() };
  /** By the port of the member, or the driver of the client. */
  #ofSome = new Map<number | string, Blockade>();
  #interceptions: Interception[] = [];

  constructor(server: Server, serverPort: number) {
    this.#server = server;
    this.serverPort = serverPort;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => {
      const connection = new ProxiedConnection(client, this, () => this.#connections.delete(connection));
      this.#connections.add(connection);
    });
  }

  cut(traffic: Traffic): void {
    for (const blockade of this.#against(traffic)) blockade.isCut = true;
    for (const connection of this.#of(traffic)) connection.destroy();
  }

  freeze(traffic: Traffic, direction: Direction = 'both'): void {
    for (const { freezes } of this.#against(traffic)) {
      if (direction !== 'replies') freezes.requests = true;
      if (direction !== 'requests') freezes.replies = true;
    }
  }

  delay(traffic: Traffic, slow: Slow): void {
    for (const blockade of this.#against(traffic)) blockade.slow = slow;
  }

  dropReplies(times: number, matches: Match): Dropping {
    let dropped = 0;
    const treatment: Treatment = { dropped: () => (dropped += 1) };
    const interception: Interception = { left: times, matches, treatment, discard: () => undefined };
    this.#interceptions.push(interception);
    return {
      get dropped() {
        return dropped;
      },
      cancel: () => (interception.left = 0),
    };
  }

  holdRequests(times: number, matches: Match): Holding {
    let requests: HeldRequest[] = [];
    const treatment: Treatment = { held: (request) => requests.push(request) };
    const taken = (): readonly HeldRequest[] => {
      interception.left = 0;
      const taken = requests;
      requests = [];
      return taken;
    };
    const discard = () => {
      for (const request of taken()) request.discard();
    };
    const interception: Interception = { left: times, matches, treatment, discard };
    this.#interceptions.push(interception);
    return {
      get held() {
        return requests.length;
      },
      deliver: async () => {
        const answers = await Promise.all(taken().map((request) => request.deliver()));
        return answers.filter(Boolean).length;
      },
    };
  }

  cutStreams(): number {
    const streams = this.#streams();
    for (const connection of streams) connection.destroy();
    return streams.length;
  }

  freezeStreams(): void {
    for (const connection of this.#streams()) connection.freeze();
  }

  heal(): void {
    this.#blockades = { clients: noBlockade(), members: noBlockade() };
    this.#ofSome = new Map();
    for (const { discard } of this.#interceptions) discard();
    this.#interceptions = [];
    for (const connection of this.#connections) connection.heal();
  }

  get connections(): { readonly clients: number; readonly members: number } {
    const open = (side: Side) => this.#of(side).filter((connection) => connection.isOpen).length;
    return { clients: open('clients'), members: open('members') };
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }

  isCut(sender: Sender): boolean {
    return this.#before(sender).some(({ isCut }) => isCut);
  }

  obstacles(sender: Sender, direction: 'requests' | 'replies'): Obstacles {
    const blockades = this.#before(sender);
    return {
      isFrozen: blockades.some(({ freezes }) => freezes[direction]),
      slow: blockades.find(({ slow }) => slow !== undefined)?.slow,
    };
  }

  get mayTreat(): boolean {
    return this.#interceptions.some(({ left }) => left > 0);
  }

  treat(request: Request): Treatment {
    const interception = this.#interceptions.find(({ left, matches }) => left > 0 && matches(request));
    if (interception === undefined) return 'pass';
    interception.left -= 1;
    return interception.treatment;
  }

  /** What is put up against this traffic. */
  #against(traffic: Traffic): readonly Blockade[] {
    if (typeof traffic === 'string') return SIDES[traffic].map((side) => this.#blockades[side]);
    const blockade = this.#ofSome.get(idOf(traffic)) ?? noBlockade();
    this.#ofSome.set(idOf(traffic), blockade);
    return [blockade];
  }

  /** What is in the way of this sender. */
  #before({ side, id }: Sender): readonly Blockade[] {
    const ofOne = id === undefined ? undefined : this.#ofSome.get(id);
    return ofOne === undefined ? [this.#blockades[side]] : [this.#blockades[side], ofOne];
  }

  #of(traffic: Traffic): readonly ProxiedConnection[] {
    return [...this.#connections].filter(({ sender }) => {
      if (sender === undefined) return false;
      return typeof traffic === 'string' ? SIDES[traffic].includes(sender.side) : sender.id === idOf(traffic);
    });
  }

  #streams(): readonly ProxiedConnection[] {
    return [...this.#connections].filter(({ carriesStream }) => carriesStream);
  }
}

/** What is asked for by `dropReplies` or `holdRequests`. */
interface Interception {
  left: number;
  readonly matches: Match;
  readonly treatment: Treatment;
  readonly discard: () => void;
}
