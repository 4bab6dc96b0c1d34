import type { LockSnapshot } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { EXIT } from './exit-codes.js';
import { HOLDER_HEAD, WAITER_HEAD, holderCells, waiterCells } from './lock-text.js';
import type { Output } from './output.js';
import { counted } from './values.js';

/** Prints one lock with its holders and its queue. */
export async function show(name: string, options: CommonOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold show' });
  const { locks, output } = session;
  const snapshot = await locks.inspect(name);
  if (snapshot === null) {
    output.say(`no lock ${JSON.stringify(name)} is stored`);
    return EXIT.negative;
  }
  if (output.isJson) output.row(snapshot);
  else print(output, snapshot);
  return EXIT.ok;
}

function print(output: Output, { name, kind, limit, asOf, holders, waiters }: LockSnapshot): void {
  output.line(
    `${name}: ${kind}${limit === undefined ? '' : ` of ${counted(limit, 'permit', 'permits')}`}, at ${asOf.toISOString()}`,
  );
  if (holders.length === 0) output.line('free');
  else
    output.table(
      HOLDER_HEAD,
      holders.map((holder) => holderCells(asOf, holder)),
    );
  if (waiters.length > 0)
    output.table(
      WAITER_HEAD,
      waiters.map((waiter) => waiterCells(asOf, waiter)),
    );
}
