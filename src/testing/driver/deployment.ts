// Folder `driver`: what a process sees of the replica set, with the shapes and the errors of the MongoDB driver.

import type { Command } from '../commands/command.js';
import type { Role } from '../replica-set/member.js';
import type { Reply, Respond } from '../replica-set/reply.js';

export interface Deployment {
  readonly setName: string;
  /** The role of each member, by its address. If several act as primary, only the last elected one is `primary`. */
  roles(): ReadonlyMap<string, Role>;
  /** Runs a command on the member with this address. Calls `answer` at most once. */
  run(address: string, command: Command, answer: Respond): void;
  /** Whether this reply to the command is lost, and by how much it is delayed, in ms. */
  fateOfReply(command: Command, reply: Reply): { readonly isLost: boolean; readonly delayMs: number };
}
