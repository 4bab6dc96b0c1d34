import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { CorruptDocuments, corruptLine } from './corrupt-documents.js';
import { EXIT } from './exit-codes.js';
import { LOCK_HEAD, lockCells } from './lock-text.js';
import type { Cell, TableLayout } from './output.js';

export interface LsOptions extends CommonOptions {
  readonly held?: boolean | undefined;
}

/**
 * A person needs lines that fit; the name comes first, and who holds the lock comes last. A script needs whole names.
 */
const ON_TERMINAL: TableLayout = {
  bounds: LOCK_HEAD.map((_, at) => (at === LOCK_HEAD.length - 1 ? 80 : 40)),
};

/** Lists the stored locks, in the order of their names. */
export async function ls(prefix: string | undefined, options: LsOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold ls' });
  const { locks, output } = session;
  using corrupt = new CorruptDocuments(locks, (name) => {
    output.say(corruptLine(name));
  });
  const rows: (readonly Cell[])[] = [];
  for await (const snapshot of locks.list({ prefix, heldOnly: options.held })) {
    if (output.isJson) output.row(snapshot);
    else rows.push(lockCells(snapshot));
  }
  if (!output.isJson && rows.length > 0)
    output.table(LOCK_HEAD, rows, process.stdout.isTTY ? ON_TERMINAL : {});
  return corrupt.names.length > 0 ? EXIT.internal : EXIT.ok;
}
