import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { EXIT } from './exit-codes.js';
import { LOCK_HEAD, lockCells } from './lock-text.js';
import type { Cell } from './output.js';

export interface LsOptions extends CommonOptions {
  readonly held?: boolean | undefined;
}

/** Lists the stored locks, in the order of their names. */
export async function ls(prefix: string | undefined, options: LsOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold ls' });
  const { locks, output } = session;
  let code: number = EXIT.ok;
  locks.on('storeError', ({ lockName, during }) => {
    if (during !== 'list') return;
    output.say(`the document of lock ${JSON.stringify(lockName)} is corrupt; it is left out`);
    code = EXIT.internal;
  });
  const rows: (readonly Cell[])[] = [];
  for await (const snapshot of locks.list({ prefix, heldOnly: options.held })) {
    if (output.isJson) output.row(snapshot);
    else rows.push(lockCells(snapshot));
  }
  if (!output.isJson && rows.length > 0) output.table(LOCK_HEAD, rows);
  return code;
}
