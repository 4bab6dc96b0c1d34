import { failed } from '../replica-set/reply.js';
import type { Reply, Respond } from '../replica-set/reply.js';
import type { Member } from '../replica-set/member.js';
import type { ReplicaSet } from '../replica-set/replica-set.js';
import { NotSimulatedError, ServerError } from '../server/errors/server-error.js';
import type { Time } from '../time/time.js';
import { ChangeCursors } from './change-cursors.js';
import type { Command, Server } from './command.js';
import { DuplicateKeyError } from './duplicate-key.js';
import { PurgeIndexes } from './purge-indexes.js';

/** How often the server looks for documents to purge, in ms. */
const PURGE_EVERY_MS = 60_000;

const NOT_PRIMARY: Reply = failed(10_107, 'NotWritablePrimary', 'not primary');
const DISCONNECTED: Reply = { type: 'disconnected', message: 'the connection was closed' };

/** The servers of all members. They run commands, and `disconnectAll` ends the commands in flight. */
export class Servers {
  readonly #set: ReplicaSet;
  readonly #time: Time;
  readonly #servers: ReadonlyMap<Member, Server>;
  readonly #purgeIndexes = new PurgeIndexes();
  readonly #inFlight = new Set<Respond>();
  #isPurging = false;

  constructor(set: ReplicaSet, time: Time, setName: string) {
    this.#set = set;
    this.#time = time;
    const addresses = set.members.map(({ address }) => address);
    const serverOf = (member: Member): Server => ({
      ...{ member, setName, addresses, purgeIndexes: this.#purgeIndexes },
      cursors: new ChangeCursors(member, time),
      replicate: () => {
        set.replicate(member);
      },
    });
    this.#servers = new Map(set.members.map((member) => [member, serverOf(member)]));
  }

  get openCursors(): number {
    return [...this.#servers.values()].reduce((sum, { cursors }) => sum + cursors.count, 0);
  }

  /** Runs a command on the member of this address. Calls `answer` at most once. */
  run(address: string, command: Command, answer: Respond): void {
    const member = this.#set.member(address);
    const server = member && this.#servers.get(member);
    if (server === undefined || server.member.role === 'down') {
      answer(DISCONNECTED);
      return;
    }
    const respond: Respond = (reply) => {
      if (this.#inFlight.delete(respond)) answer(reply);
    };
    this.#inFlight.add(respond);
    if (server.member.role !== 'primary' && !command.runsAnywhere) respond(NOT_PRIMARY);
    else this.#run(server, command, respond);
    this.#purgeLater();
  }

  #run(server: Server, command: Command, respond: Respond): void {
    try {
      server.member.atOneMoment(() => {
        command.run(server, respond);
      });
    } catch (error) {
      respond(replyTo(error));
    }
  }

  /** Closes all connections, and with them all cursors. */
  disconnectAll(): void {
    for (const respond of [...this.#inFlight]) respond(DISCONNECTED);
    this.breakStreams();
  }

  breakStreams(): void {
    for (const { cursors } of this.#servers.values()) cursors.killAll();
  }

  /** If there is an index that purges documents, the primary purges once a minute from now on. */
  #purgeLater(): void {
    if (this.#isPurging || this.#purgeIndexes.isEmpty) return;
    this.#isPurging = true;
    this.#time.at(this.#time.nowMs() + PURGE_EVERY_MS, () => {
      this.#isPurging = false;
      const { primary } = this.#set;
      if (primary !== undefined) {
        primary.atOneMoment(() => {
          this.#purgeIndexes.purge(primary);
        });
        this.#set.replicate(primary);
      }
      this.#purgeLater();
    });
  }
}

/**
 * The reply for the error that a command has thrown. An error of an unknown class is a mistake in the simulation
 * itself, and is thrown again.
 */
function replyTo(error: unknown): Reply {
  if (error instanceof NotSimulatedError) return { type: 'not-simulated', error };
  if (!(error instanceof ServerError)) throw error;
  const { code, codeName, message } = error;
  return failed(code, codeName, message, error instanceof DuplicateKeyError ? error.details : undefined);
}
