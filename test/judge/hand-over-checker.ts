import type { History } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';
import type { Grant } from './oplog-checker.js';

const CHECKER = 'hand-overs';

/** L3: after a successful hand-over, the next leader is the candidate that it named. */
export function* checkHandOvers({ workers }: History, grants: readonly Grant[]): Iterable<Violation> {
  const elected = grants.filter(({ candidateId }) => candidateId !== undefined);
  for (const [worker, lines] of workers.entries()) {
    const tokens = new Map<number, number>();
    for (const line of lines) {
      if (line.type === 'granted') tokens.set(line.ask, line.token);
      if (line.type !== 'handed over' || !line.isHanded) continue;
      const token = tokens.get(line.ask) ?? 0;
      const next = elected[elected.findIndex((grant) => grant.token === token) + 1];
      if (next?.candidateId === line.to) continue;
      const what = `worker ${worker} has handed term ${token} to ${line.to}, and ${next?.candidateId ?? 'nobody'} follows`;
      yield { invariant: 'L3', checker: CHECKER, what };
    }
  }
}
