/** From one time of the monotonic clock until another, in ns. */
export interface Span {
  readonly fromNs: number;
  untilNs: number;
}

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

/** Whether one of the spans has a time in common with the time between the two. */
export const overlaps = (spans: readonly Span[], fromNs: number, untilNs: number): boolean =>
  spans.some((span) => span.fromNs <= untilNs && fromNs <= span.untilNs);
