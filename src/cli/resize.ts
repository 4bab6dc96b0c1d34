import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { counted } from './values.js';

/** Sets the limit of a stored semaphore. */
export async function resize(name: string, limit: number, options: CommonOptions): Promise<number> {
  await using session = await openSession(options, { label: 'leasehold resize' });
  const { locks, output } = session;
  const before = await locks.inspect(name);
  if (before === null) {
    output.say(`no semaphore ${JSON.stringify(name)} is stored; its first use sets the limit`);
    return EXIT.negative;
  }
  // Without this check, the library would take over the lock if it is of another kind and idle.
  if (before.kind !== 'semaphore') {
    throw new CommandFailure(EXIT.configuration, `${JSON.stringify(name)} is no semaphore: ${before.kind}`);
  }
  await locks.createSemaphore(name, limit, { whenLimitDiffers: 'follow' }).resize(limit);
  if (output.isJson) output.row((await locks.inspect(name)) ?? before);
  else output.line(`${name}: ${counted(before.limit ?? 0, 'permit', 'permits')} before, ${limit} now`);
  return EXIT.ok;
}
