import type { RunLine } from '../../faults/history.js';
import type { Span } from '../../judge/overlap.js';

/** The times of these faults, in ns. */
function spansOf(
  run: readonly RunLine[],
  begins: (line: RunLine) => boolean,
  ends: (line: RunLine) => boolean,
): readonly Span[] {
  const spans: Span[] = [];
  for (const line of run) {
    if (begins(line)) spans.push({ fromNs: Number(line.atNs), untilNs: Infinity });
    const open = spans.find(({ untilNs }) => untilNs === Infinity);
    if (ends(line) && open !== undefined) open.untilNs = Number(line.atNs);
  }
  return spans;
}

/** The faults that befall this replica set. */
export const ofSet = (run: readonly RunLine[], set: number): readonly RunLine[] =>
  run.filter((line) => !('what' in line) || line.set === set);

export const faultSpans = (run: readonly RunLine[], ...kinds: readonly string[]): readonly Span[] =>
  spansOf(
    run,
    (line) => line.type === 'fault begins' && kinds.includes(line.what),
    (line) => line.type === 'fault ends' && kinds.includes(line.what),
  );

export const stands = (run: readonly RunLine[], worker: number): readonly Span[] =>
  spansOf(
    run,
    (line) => (line.type === 'worker stands' || line.type === 'worker killed') && line.worker === worker,
    (line) => line.type === 'worker goes on' && line.worker === worker,
  );

export const isIn = (spans: readonly Span[], ns: number): boolean =>
  spans.some(({ fromNs, untilNs }) => fromNs <= ns && ns <= untilNs);

/** How long after the end of a fault stores may still be away: until an election, and one more try of each. */
const RECOVERY_NS = 5e9;

/** The times of all faults, and of the recovery after each of them. */
export function disturbances(run: readonly RunLine[]): readonly Span[] {
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
