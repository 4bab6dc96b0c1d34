import type { History } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';

/** How long after the end of a fault deployments may still be away: until an election, and one more try of each. */
const RECOVERY_NS = 5e9;

/** R2: a request fails with a `QuorumError` only if a fault has kept deployments from answering. */
export function* checkQuorumFailures({ workers, run }: History): Iterable<Violation> {
  const faults = faultSpansIn(run);
  for (const [worker, lines] of workers.entries()) {
    const asked = new Map<number, number>();
    for (const line of lines) {
      if (line.type === 'asked' || line.type === 'changing') asked.set(line.ask, Number(line.atNs));
      if (line.type !== 'not granted' && line.type !== 'not changed') continue;
      const [fromNs, untilNs] = [asked.get(line.ask) ?? 0, Number(line.atNs)];
      const isExcused = faults.some((fault) => fault.fromNs <= untilNs && fromNs <= fault.untilNs);
      if (line.code !== 'QUORUM' || isExcused) continue;
      const what = `worker ${worker}, ask ${line.ask} fails with QUORUM, and nothing happened to the deployments`;
      yield { invariant: 'R2', checker: 'quorum failures', what };
    }
  }
}

interface Span {
  readonly fromNs: number;
  readonly untilNs: number;
}

function faultSpansIn(run: History['run']): readonly Span[] {
  const begun: { readonly fault: number; readonly ns: number }[] = [];
  const spans: Span[] = [];
  for (const line of run) {
    if (line.type === 'fault begins') begun.push({ fault: line.fault, ns: Number(line.atNs) });
    if (line.type !== 'fault ends') continue;
    const of = begun.find(({ fault }) => fault === line.fault);
    if (of === undefined) continue;
    spans.push({ fromNs: of.ns, untilNs: Number(line.atNs) + RECOVERY_NS });
    begun.splice(begun.indexOf(of), 1);
  }
  return [...spans, ...begun.map(({ ns }) => ({ fromNs: ns, untilNs: Infinity }))];
}
