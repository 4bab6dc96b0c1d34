import type { History } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import { overlaps } from '../../judge/overlap.js';
import { disturbances } from './spans.js';

/** R2: a request fails with a `QuorumError` only if a fault has kept deployments from answering. */
export function* checkQuorumFailures({ workers, run }: History): Iterable<Violation> {
  const faults = disturbances(run);
  for (const [worker, lines] of workers.entries()) {
    const asked = new Map<number, number>();
    for (const line of lines) {
      if (line.type === 'asked' || line.type === 'changing') asked.set(line.ask, Number(line.atNs));
      if (line.type !== 'not granted' && line.type !== 'not changed') continue;
      const [fromNs, untilNs] = [asked.get(line.ask) ?? 0, Number(line.atNs)];
      const isExcused = overlaps(faults, fromNs, untilNs);
      if (line.code !== 'QUORUM' || isExcused) continue;
      const what = `worker ${worker}, ask ${line.ask} fails with QUORUM, and nothing happened to the deployments`;
      yield { invariant: 'R2', checker: 'quorum failures', what };
    }
  }
}
