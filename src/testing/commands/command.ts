// Folder `commands`: what a member does with each command that the simulation knows.

import type { Member } from '../replica-set/member.js';
import type { Namespace } from '../replica-set/documents.js';
import type { Respond } from '../replica-set/reply.js';
import type { ChangeCursors } from './change-cursors.js';
import type { PurgeIndexes } from './purge-indexes.js';

/** One member of the replica set as a server: its documents (`member`), and whatever else its commands need. */
export interface Server {
  readonly member: Member;
  readonly cursors: ChangeCursors;
  readonly purgeIndexes: PurgeIndexes;
  readonly setName: string;
  readonly addresses: readonly string[];
  replicate(): void;
}

/** A command that was read. `run` uses the copies of its values that `readCommand` made. */
export interface Command extends ReadCommand {
  readonly given: GivenCommand;
}

export interface ReadCommand {
  readonly name: string;
  readonly isWrite: boolean;
  /** Whether a member that is not primary may run the command. */
  readonly runsAnywhere: boolean;
  run(server: Server, respond: Respond): void;
}

export const write = (name: string): Kind => ({ name, isWrite: true, runsAnywhere: false });

export const read = (name: string): Kind => ({ name, isWrite: false, runsAnywhere: false });

export const readAnywhere = (name: string): Kind => ({ name, isWrite: false, runsAnywhere: true });

type Kind = Pick<ReadCommand, 'name' | 'isWrite' | 'runsAnywhere'>;

export type GivenCommand = Readonly<Record<string, unknown>>;

export type CommandReader = (given: GivenCommand, database: string) => ReadCommand;

/** The namespace of the collection that the first field of a command names. */
export const namespaceOf = (given: GivenCommand, name: string, database: string): Namespace =>
  `${database}.${String(given[name])}`;
