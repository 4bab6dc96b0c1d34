import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { Interruption } from './interruption.js';
import { lockChanges } from './lock-changes.js';
import { stateLine } from './lock-text.js';
import { TimeLimit } from './time-limit.js';
import { shownDuration } from './values.js';

export interface WaitOptions extends CommonOptions {
  readonly timeout?: number | undefined;
}

/** Waits until the lock has no holder. Takes no place in its queue. */
export async function wait(name: string, options: WaitOptions): Promise<number> {
  using interruption = new Interruption();
  const { timeout: timeoutMs } = options;
  using limit = timeoutMs === undefined ? undefined : new TimeLimit(timeoutMs);
  const signal = AbortSignal.any([interruption.signal, ...(limit === undefined ? [] : [limit.signal])]);
  await using session = await openSession(options, {
    label: 'leasehold wait',
    timeoutMs,
    interruption,
    saysTrouble: false,
  });
  let state = '';
  // The first read is made even if the time is up already, so that a timeout of 0 asks once.
  for await (const snapshot of lockChanges(session, name, signal)) {
    if (snapshot === null || snapshot.holders.length === 0) return EXIT.ok;
    state = stateLine(snapshot);
  }
  if (interruption.signal.aborted) throw interruption.signal.reason;
  const after = `Lock ${JSON.stringify(name)} was not free within ${shownDuration(timeoutMs ?? 0)}`;
  throw new CommandFailure(EXIT.busy, `${after}; ${state}`);
}
