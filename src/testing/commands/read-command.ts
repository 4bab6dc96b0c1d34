import { createIndexes, drop, hello, listCollections, notSimulated, ping } from './administration.js';
import { aggregate, getMore, killCursors } from './change-streams.js';
import type { Command, CommandReader, GivenCommand } from './command.js';
import { findAndModify } from './find-and-modify.js';
import { find } from './find.js';
import { deleteCommand, insertCommand, update } from './updates.js';

const READERS: Readonly<Record<string, CommandReader>> = {
  aggregate,
  createIndexes,
  delete: deleteCommand,
  drop,
  find,
  findAndModify,
  getMore,
  hello,
  insert: insertCommand,
  killCursors,
  listCollections,
  ping,
  update,
};

/**
 * Reads a command into one that a member can run. The driver encodes a command when it sends the command, so the values
 * of the command are copied now: a later change of a value has no effect. Only objects of the driver's BSON classes,
 * such as `Binary`, are not copied.
 *
 * @throws {@link NotSimulatedError} for a command, or an option of a command, that the simulation does not know.
 */
export function readCommand(given: GivenCommand, database: string): Command {
  const [name = ''] = Object.keys(given);
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  return { ...(reader ?? notSimulated)(given, database), given };
}
