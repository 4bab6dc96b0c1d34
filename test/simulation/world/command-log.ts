import type { Db, Document } from 'mongodb';
import { withMethods } from '../../support/with-methods.js';

/** A command of the library that many operations share. */
export interface GroupCommand {
  readonly worker: number;
  readonly operations: number;
  outcome: 'none' | 'answered' | 'failed';
}

interface Statement {
  readonly q: { readonly _id: string | { readonly $in: readonly string[] } };
  readonly u: object;
}

/** One statement serves several locks. A statement that only creates a vacant lock is no operation. */
const operationsIn = (updates: readonly Statement[]): number =>
  updates
    .filter(({ u }) => !('$setOnInsert' in u))
    .reduce((sum, { q: { _id } }) => sum + (typeof _id === 'string' ? 1 : _id.$in.length), 0);

/** Notes the commands that processes send, and whether they were answered. */
export class CommandLog {
  readonly groups: GroupCommand[] = [];
  /** How many commands were sent, and how many of them failed or were never answered. */
  sent = 0;
  failed = 0;

  /** The same database, whose commands are noted. */
  watched(db: Db, worker: number): Db {
    return withMethods(db, {
      command: (command: Document, options?: object) =>
        this.#note(worker, command, () => db.command(command, options)),
    });
  }

  async #note(worker: number, command: Document, send: () => Promise<Document>): Promise<Document> {
    const updates = command['updates'] as readonly Statement[] | undefined;
    const isGroup = updates !== undefined && command['ordered'] === false;
    const group: GroupCommand = { worker, operations: isGroup ? operationsIn(updates) : 1, outcome: 'none' };
    if (isGroup) this.groups.push(group);
    this.sent += 1;
    try {
      const answer = await send();
      group.outcome = 'answered';
      return answer;
    } catch (error) {
      group.outcome = 'failed';
      this.failed += 1;
      throw error;
    }
  }
}
