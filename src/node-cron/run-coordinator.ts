// Folder `node-cron`: decides for the tasks of node-cron which process of a fleet runs which fire. A fire is one
// instant of a task. Its claim is stored like the claim of a scheduled job.

import { ProviderClosedError } from '../errors.js';
import { keepAlive } from '../keep-alive.js';
import {
  knownOptions,
  number,
  orElse,
  outOfRange,
  parseName,
  shortText,
  wrongType,
} from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { engineOf } from '../engine-of.js';
import type { LockProvider } from '../provider.js';
import { FireClaim } from './fire-claim.js';

/**
 * Decides which process of a fleet runs a fire of a task. node-cron 4.4.1 and later accept a coordinator: as the
 * option `runCoordinator` of a task, or by `setRunCoordinator`.
 */
export interface RunCoordinator {
  /**
   * Claims the fire. After an error, node-cron skips the fire in this process.
   *
   * `close()` of the provider waits for the answer to a claim in flight, for at most the `drainMs` of `close()`. If no
   * answer has come by then, or if the client closes first, the fire may be claimed, and then no process runs the fire.
   *
   * @param key - The name of the task and the instant of the fire, in the form of node-cron:
   *   `name:2026-01-31T03:00:00.000Z`.
   * @param ttlMs - No effect, because a claim has no lease that could expire.
   * @returns Whether this process runs the fire. At most one of the processes that ask gets `true`.
   * @throws `TypeError` or `RangeError` for a wrong key; `UnsupportedServerError`, `CorruptLockDocumentError`,
   *   `LockKindMismatchError`, `ProviderClosedError`.
   * @throws `StoreUnavailableError` if the store refused, if the outcome of the claim is not known within `timeoutMs`,
   *   if a later fire was claimed before an answer told the outcome, if the server's clock has not reached the instant
   *   within `timeoutMs`, or if the document has claims of 1,000 other jobs. If `outcomeKnown` of this error is false,
   *   the fire may be claimed, and then no process runs the fire.
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
}

/** Options of {@link runCoordinator}. */
export interface RunCoordinatorOptions {
  /**
   * The claims of a task are stored in a document whose name is this prefix and the name of the task. Default:
   * `node-cron:`. The whole name has at most 1,024 bytes of UTF-8. All processes of a fleet need the same prefix.
   */
  prefix?: string | undefined;
  /**
   * How long a fire may wait for its decision, in ms, while the store does not answer or the server's clock has not
   * reached the instant: 1 ms to 24 h, default 30,000. A background task of node-cron waits for 5,000 ms and then
   * skips the fire, so a background task needs a lower value.
   */
  timeoutMs?: number | undefined;
}

const KEYS: KeysOf<RunCoordinatorOptions> = { prefix: true, timeoutMs: true };

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 86_400_000;

/**
 * Makes a coordinator for the `distributed` tasks of node-cron: each fire of a task runs in at most one process of the
 * fleet.
 *
 * Guaranteed: at most one process runs a fire. The claim of a fire is one atomic update, which the server applies only
 * if no process has claimed this fire or a later one, and only when its own clock has reached the instant. So neither
 * clocks that differ nor lost replies nor failovers make a fire run twice. If a process dies after its claim, no other
 * process repeats the run.
 *
 * Not promised: that two runs of a task do not overlap. The process of the second run knows nothing of the first run.
 * If runs must not overlap, use a mutex in the task; the token of the mutex fences. Also not promised: that a fire
 * runs if the clocks of the processes differ by more than the time between two fires. A process whose clock is behind
 * may ask for a fire after a later fire was claimed.
 *
 * Each process needs the same name, expression and time zone for a task. The coordinator sends nothing before the
 * first fire.
 *
 * @example
 *   cron.setRunCoordinator(runCoordinator(locks));
 *   cron.schedule('0 3 * * *', backUp, { name: 'backup', distributed: true });
 *
 * @throws `TypeError` or `RangeError` for a wrong provider or a wrong option.
 */
export function runCoordinator(locks: LockProvider, options?: RunCoordinatorOptions): RunCoordinator {
  const { drained, fireClaims, requester } = engineOf(locks);
  const { context } = requester;
  const given = knownOptions(options, 'runCoordinator', KEYS);
  const prefix = shortText('prefix', orElse(given.prefix, 'node-cron:'));
  const timeoutMs = number('timeoutMs', orElse(given.timeoutMs, DEFAULT_TIMEOUT_MS), 1, MAX_TIMEOUT_MS);
  return {
    async shouldRun(key) {
      const { task, instant } = parseKey(key);
      const name = parseName(`${prefix}${task}`);
      if (context.closing.aborted) throw new ProviderClosedError(name);
      const untilMs = context.clock.nowMs() + timeoutMs;
      const claim = new FireClaim(context, {
        name,
        job: task,
        instant,
        untilMs,
        over: drained.signal,
      }).settle();
      fireClaims.add(claim);
      try {
        return await keepAlive(claim);
      } finally {
        fireClaims.delete(claim);
      }
    },
  };
}

/** The name of a task, a colon, and an instant as `Date.toISOString` writes it. The name may contain colons, too. */
const KEY = /^(.+):(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)$/s;

function parseKey(key: string): { readonly task: string; readonly instant: Date } {
  if (typeof key !== 'string') throw wrongType('key', 'a string', key);
  const [, task, iso] = KEY.exec(key) ?? [];
  const instant = new Date(iso ?? NaN);
  // Before 1970 no instant of a job is legal.
  if (task === undefined || !(instant.getTime() >= 0)) {
    throw outOfRange('key', 'the name of a task, a colon and an instant as toISOString writes it', key);
  }
  return { task, instant };
}
