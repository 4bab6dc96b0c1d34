// Folder `driver`: what a process sees of the replica set, with the shapes and the errors of the MongoDB driver.

import type { Command } from '../commands/command.js';
import type { Role } from '../replica-set/member.js';
import type { Respond } from '../replica-set/reply.js';

/** The replica set as the driver reaches it. */
export interface Deployment {
  readonly setName: string;
  /** The members by their addresses. At most one is primary: the one that was elected last. */
  roles(): ReadonlyMap<string, Role>;
  /** Runs a command on the member of this address, and answers once or never. */
  run(address: string, command: Command, answer: Respond): void;
  /** What happens to the reply to this command: it is lost, or it takes this much longer. */
  fateOfReply(command: Command): { readonly isLost: boolean; readonly delayMs: number };
}
