import type { StoredClaim } from '../protocol/jobs/job-claims.js';

/** When a job is due, computed only from its claims and the time. All times are the server's, in ms. */
export interface Schedule {
  /**
   * Whether the instants are a series that does not depend on the ends of the runs: true for a cron expression and for
   * a fixed rate, false for a fixed delay.
   */
  readonly isSeries: boolean;

  /** The first instant of a job that has no claim yet; `null`: there is none. */
  first(nowMs: number): number | null;

  /** The next instant to wait for; `null`: there is none. */
  next(claimed: Claimed, nowMs: number): number | null;

  /**
   * The next instant, also for a job that has no claim yet (`claimed` is `null`). Returns `null` if there is no next
   * instant, or if the first claim decides it.
   */
  expected(claimed: Claimed | null, nowMs: number): number | null;

  /** The instant at which the next run is due. A run that has not ended by then is an overrun. `null`: never. */
  overrunAt(claimed: Claimed, nowMs: number): number | null;

  /**
   * The instants after the last claim and up to now; `undefined`: there are none, as always with a fixed delay. A cron
   * schedule counts at most `MAX_COUNTED` of them.
   */
  missed(claimed: Claimed, nowMs: number): MissedInstants | undefined;
}

/** The claims of a job, as far as its schedule needs them. */
export interface Claimed {
  readonly lastMs: number;
  /** The first instant of the schedule, from which a fixed rate counts. The first claim of the job has stored it. */
  readonly anchorMs: number;
  /** When the run of the last claim ended, if that is known. */
  readonly endedMs?: number;
}

export const claimedBy = ({ instant, anchor }: Pick<StoredClaim, 'instant' | 'anchor'>): Claimed => ({
  lastMs: instant.getTime(),
  anchorMs: anchor.getTime(),
});

export interface MissedInstants {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export const only = (instantMs: number): MissedInstants => ({
  count: 1,
  firstMs: instantMs,
  lastMs: instantMs,
});

/** The missed instants together with this instant, which is the last of them or comes after them. */
export function withInstant(missed: MissedInstants | undefined, instantMs: number): MissedInstants {
  if (missed === undefined) return only(instantMs);
  if (missed.lastMs === instantMs) return missed;
  return { count: missed.count + 1, firstMs: missed.firstMs, lastMs: instantMs };
}

/** The instants are `everyMs` apart, however long the runs take. */
export function fixedRate(everyMs: number, initialDelayMs: number): Schedule {
  // `sinceMs` may be before `anchorMs`: a run out of turn may come before the first instant.
  const after = ({ lastMs, anchorMs }: Claimed, sinceMs = lastMs): number =>
    Math.max(anchorMs, anchorMs + (Math.floor((sinceMs - anchorMs) / everyMs) + 1) * everyMs);
  const next = (claimed: Claimed, nowMs: number): number => after(claimed, Math.max(claimed.lastMs, nowMs));
  return {
    isSeries: true,
    first: (nowMs) => nowMs + initialDelayMs,
    next,
    expected: (claimed, nowMs) => (claimed === null ? null : next(claimed, nowMs)),
    overrunAt: next,
    missed: (claimed, nowMs) => {
      const firstMs = after(claimed);
      if (firstMs > nowMs) return undefined;
      const lastMs = next(claimed, nowMs) - everyMs;
      return { count: (lastMs - firstMs) / everyMs + 1, firstMs, lastMs };
    },
  };
}

/**
 * The next instant is `everyMs` after the end of each run, or after its claimed instant if the end is not known.
 * Nothing is due before that, so no instant is missed. If the server's clock was set back during a run, the run may
 * seem to end before the instant that it was claimed for. The next instant is then counted from the claimed instant,
 * because a claim of an earlier instant is never granted.
 */
export function fixedDelay(everyMs: number, initialDelayMs: number): Schedule {
  const next = ({ lastMs, endedMs = lastMs }: Claimed): number => Math.max(lastMs, endedMs) + everyMs;
  return {
    isSeries: false,
    first: (nowMs) => nowMs + initialDelayMs,
    next,
    expected: (claimed) => (claimed === null ? null : next(claimed)),
    overrunAt: () => null,
    missed: () => undefined,
  };
}
