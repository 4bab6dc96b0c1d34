// Folder `commands`: what a member does with each command that the library sends.

import type { Member } from '../replica-set/member.js';
import type { Namespace } from '../replica-set/documents.js';
import type { Respond } from '../replica-set/reply.js';
import type { ChangeCursors } from './change-cursors.js';
import type { PurgeIndexes } from './purge-indexes.js';

/** The member that runs a command, and what it has beside its documents. */
export interface Server {
  readonly member: Member;
  readonly cursors: ChangeCursors;
  readonly purgeIndexes: PurgeIndexes;
  readonly setName: string;
  readonly addresses: readonly string[];
  /** Sends new entries of the oplog to the other members. */
  replicate(): void;
}

/** A command as it was sent. Everything that `run` uses was encoded at that moment. */
export interface Command extends ReadCommand {
  readonly given: GivenCommand;
}

/** What the reader of a command finds out. */
export interface ReadCommand {
  readonly name: string;
  /** Whether the command changes documents. */
  readonly isWrite: boolean;
  /** Whether a member that is not primary may run it. */
  readonly runsAnywhere: boolean;
  run(server: Server, respond: Respond): void;
}

/** A command that changes documents. Only the primary runs it. */
export const write = (name: string): Kind => ({ name, isWrite: true, runsAnywhere: false });

/** A command that changes no document. Only the primary runs it. */
export const read = (name: string): Kind => ({ name, isWrite: false, runsAnywhere: false });

/** A command that changes no document. Every member runs it. */
export const readAnywhere = (name: string): Kind => ({ name, isWrite: false, runsAnywhere: true });

type Kind = Pick<ReadCommand, 'name' | 'isWrite' | 'runsAnywhere'>;

/** A command as the driver is given it. */
export type GivenCommand = Readonly<Record<string, unknown>>;

/** Reads a command of this name. */
export type CommandReader = (given: GivenCommand, database: string) => ReadCommand;

/** The namespace of the collection that the first field of a command names. */
export const namespaceOf = (given: GivenCommand, name: string, database: string): Namespace =>
  `${database}.${String(given[name])}`;
