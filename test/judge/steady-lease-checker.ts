import type { History } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';

const CHECKER = 'steady lease';

/** L4: a holder with a long lease keeps it through every failover, unless a fault excuses the loss. */
export function* checkSteadyLease({ workers, run }: History, steadyLock: string): Iterable<Violation> {
  if (run.some((line) => 'excuses' in line && line.excuses.includes('steady lease'))) return;
  for (const [worker, lines] of workers.entries()) {
    const asks = new Set(
      lines.flatMap((line) => (line.type === 'asked' && line.lock === steadyLock ? [line.ask] : [])),
    );
    for (const line of lines) {
      if (line.type !== 'lost' || !asks.has(line.ask)) continue;
      yield { invariant: 'L4', checker: CHECKER, what: `worker ${worker} lost a long lease: ${line.why}` };
    }
  }
}
