import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { Interruption } from './interruption.js';
import { identityOf, lockChanges } from './lock-changes.js';
import { stateLine } from './lock-text.js';

/** Prints the lock, and prints it again when a read shows that its kind, limit, holders or queue have changed. */
export async function watch(name: string, options: CommonOptions): Promise<never> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, {
    label: 'leasehold watch',
    interruption,
    saysTrouble: false,
  });
  const { output } = session;
  let shown: string | undefined;
  for await (const snapshot of lockChanges(session, name, signal)) {
    const identity = identityOf(snapshot);
    if (identity === shown) continue;
    shown = identity;
    if (snapshot === null) output.say(`no lock ${JSON.stringify(name)} is stored`);
    else if (output.isJson) output.row(snapshot);
    else output.line(`${snapshot.asOf.toISOString()}  ${stateLine(snapshot)}`);
  }
  throw signal.reason;
}
