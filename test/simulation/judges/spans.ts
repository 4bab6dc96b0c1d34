import type { RunLine } from '../../faults/history.js';

export interface Span {
  readonly fromNs: number;
  untilNs: number;
}

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

/** How much of a time is covered by spans. */
export function overlapNs(spans: readonly Span[], fromNs: number, untilNs: number): number {
  let [sumNs, reachedNs] = [0, fromNs];
  for (const span of spans.toSorted((a, b) => a.fromNs - b.fromNs)) {
    const [startNs, endNs] = [Math.max(span.fromNs, reachedNs), Math.min(span.untilNs, untilNs)];
    if (endNs <= startNs) continue;
    sumNs += endNs - startNs;
    reachedNs = endNs;
  }
  return sumNs;
}
