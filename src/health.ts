import { seconds } from './error-text.js';
import type { Wakeups } from './options/provider-options.js';

/** The state of a provider at this moment, as far as the provider knows it: for probes and dashboards. */
export interface LockProviderHealth {
  /**
   * False in these cases: the provider is closing or closed; the store was asked and has not answered for longer than
   * `storeTimeoutMs`; the driver has refused a command (for example because the client is closed), and no answer has
   * followed; less than a quarter of a lease is left, because its extensions have failed or the process was suspended.
   * Otherwise true, also if the provider has asked the store for nothing lately.
   *
   * A server that refuses commands, for example for a missing privilege, has answered: its refusals alone do not make
   * `healthy` false. Listen to `storeError`.
   */
  readonly healthy: boolean;
  /** Why the provider is not healthy, a sentence for each cause; empty if the provider is healthy. */
  readonly reasons: readonly string[];
  /** How a waiter would be woken now; `null` while the change stream is not open and the provider does not poll. */
  readonly wakeups: Wakeups | null;
  /** The time since the last answer of the store to a command, in whole ms; `null` before the first answer. */
  readonly answeredMsAgo: number | null;
  /**
   * The smallest share that any lease of the process has left, 0 to 1; `null` if there is no lease. Revoked leases and
   * the clock allowance do not count. The share of a lease is about 1 right after an extension, and above 0.6 while
   * extensions are answered in time (with the default `clockAllowanceMs`). A new hold may begin with a third of its
   * lease, and is then extended at once. The share is 0 while a hold is doubtful.
   */
  readonly leastLeaseShare: number | null;
  /** How many change streams are open; the stream of a dashboard is not counted. */
  readonly streams: number;
  /** How many holds the callers of this provider have; kept seats that nobody uses are not counted. */
  readonly held: number;
  /** How many requests of this provider have not ended yet: they wait, or their first answer is on its way. */
  readonly waiting: number;
}

/** The facts from which `judge` makes the health of a provider. */
export interface Vitals extends Omit<LockProviderHealth, 'healthy' | 'reasons'> {
  readonly isClosing: boolean;
  /** The present silence of the store; `undefined` if no command has failed lately, or an answer has followed. */
  readonly silence: Silence | undefined;
  /** The last refusal of the driver, if no answer has followed it. */
  readonly refusal: { readonly error: unknown } | undefined;
}

/** The store was asked and has not answered. */
export interface Silence {
  readonly forMs: number;
  /** Why the store does not answer, as far as the driver knows. */
  readonly error: unknown;
}

/**
 * If a smaller share of a lease is left, the provider is not healthy. This bound is below a third, because a healthy
 * hold may begin with a third of its lease left. Such a hold is extended at once.
 */
const LEAST_SHARE = 1 / 4;

export function judge(
  { isClosing, silence, refusal, ...vitals }: Vitals,
  storeTimeoutMs: number,
): LockProviderHealth {
  const { leastLeaseShare } = vitals;
  const reasons: string[] = [];
  if (isClosing) reasons.push('the provider is closed, or about to close');
  if (silence !== undefined && silence.forMs > storeTimeoutMs) {
    reasons.push(`the store has not answered for ${seconds(silence.forMs)}${why(silence.error)}`);
  }
  if (refusal !== undefined) reasons.push(`the driver refuses commands${why(refusal.error)}`);
  if (leastLeaseShare !== null && leastLeaseShare < LEAST_SHARE) {
    reasons.push(`only ${String(Math.floor(100 * leastLeaseShare))} % of a lease is left`);
  }
  return { healthy: reasons.length === 0, reasons, ...vitals };
}

const why = (error: unknown): string => (error instanceof Error ? `: ${error.message}` : '');
