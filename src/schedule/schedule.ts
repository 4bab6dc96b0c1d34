/**
 * When a job is due, as a pure function of what it has claimed and of the time. All times are the server's, in ms.
 */
export interface Schedule {
  /** The first instant of a job that has never claimed one; `null`: there is none. */
  first(nowMs: number): number | null;

  /** The next instant to wait for; `null`: there is none any more. */
  next(claimed: Claimed, nowMs: number): number | null;

  /** When a run under the last claim goes on for too long; `null`: never. */
  overrunAt(claimed: Claimed, nowMs: number): number | null;

  /** The instants since the last claim whose time has come; `undefined`: none. */
  missed(claimed: Claimed, nowMs: number): MissedInstants | undefined;
}

/** What a job has claimed. */
export interface Claimed {
  readonly lastMs: number;
  /** The first instant that it ever claimed. */
  readonly anchorMs: number;
  /** When the run under the last claim ended, if that was here. */
  readonly endedMs?: number;
}

export interface MissedInstants {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Every so often, counted from the first instant, however long the runs take. */
export function fixedRate(everyMs: number, initialDelayMs: number): Schedule {
  const after = ({ lastMs, anchorMs }: Claimed, sinceMs = lastMs): number =>
    anchorMs + (Math.floor((sinceMs - anchorMs) / everyMs) + 1) * everyMs;
  const next = (claimed: Claimed, nowMs: number): number => after(claimed, Math.max(claimed.lastMs, nowMs));
  return {
    first: (nowMs) => nowMs + initialDelayMs,
    next,
    overrunAt: next,
    missed: (claimed, nowMs) => {
      const firstMs = after(claimed);
      if (firstMs > nowMs) return undefined;
      const lastMs = next(claimed, nowMs) - everyMs;
      return { count: (lastMs - firstMs) / everyMs + 1, firstMs, lastMs };
    },
  };
}

/** So long after each run. Nothing is due before that, so nothing is missed. */
export function fixedDelay(everyMs: number, initialDelayMs: number): Schedule {
  return {
    first: (nowMs) => nowMs + initialDelayMs,
    next: ({ lastMs, endedMs = lastMs }) => endedMs + everyMs,
    overrunAt: () => null,
    missed: () => undefined,
  };
}
