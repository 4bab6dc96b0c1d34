import type { Ask } from '../../judge/asks.js';
import { nsOf } from '../../judge/run-clock.js';
import type { RunClock } from '../../judge/run-clock.js';
import { JOB } from '../world/job-runner.js';
import type { Evidence } from '../world/world.js';

/** The terms of the job as holds. What their processes heard is known from the first run of a term on. */
export function termsOfJob({ jobs }: Pick<Evidence, 'jobs'>, clock: RunClock): readonly Ask[] {
  const ns = (ms: number): number => clock.ns(String(Math.floor(nsOf(ms))));
  return jobs.terms.map(({ worker, id, token, fromMs, requested, ended }): Ask => {
    const atNs = ns(fromMs);
    const isLost = ended !== undefined && ended.why !== 'released';
    return {
      ...{ worker, ask: 0, lock: JOB, seat: { kind: 'election', candidateId: '' }, timeoutMs: null },
      ...{ isOneOfSeveral: false, askedNs: atNs, granted: { atNs, id, token }, promisedNs: Infinity },
      ...{ changes: [], isBusy: false },
      ...(requested === undefined ? {} : { requestedNs: ns(requested.atMs), requestedSays: requested.says }),
      ...(isLost ? { lostNs: ns(ended.atMs), lostWhy: ended.why, lostSays: ended.says } : {}),
      ...(ended === undefined || isLost ? {} : { termEndsNs: ns(ended.atMs), releasingNs: ns(ended.atMs) }),
    };
  });
}
