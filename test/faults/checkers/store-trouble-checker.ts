import type { History } from '../history.js';
import type { Violation } from '../verdict.js';

const CHECKER = 'store trouble';

/** What no trouble of the store may do: end a wait, or a lease that is longer than the trouble. */
export function checkStoreTrouble(history: History, steadyLock: string): readonly Violation[] {
  return [...givenUp(history), ...steadyLosses(history, steadyLock)];
}

/** L1: whoever waits rides it out; only a single try tells of it. */
function* givenUp({ workers }: History): Iterable<Violation> {
  for (const [worker, lines] of workers.entries()) {
    const waiting = new Set(
      lines.flatMap((line) => (line.type === 'asked' && line.timeoutMs !== 0 ? [line.ask] : [])),
    );
    for (const line of lines) {
      if (line.type !== 'not granted' || line.code !== 'STORE_UNAVAILABLE' || !waiting.has(line.ask))
        continue;
      const what = `worker ${worker}, ask ${line.ask}: a wait ended because of the store`;
      yield { invariant: 'L1', checker: CHECKER, what };
    }
  }
}

/** L4: a holder with a long lease keeps it through every failover, unless a fault is an excuse. */
function* steadyLosses({ workers, run }: History, steadyLock: string): Iterable<Violation> {
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
