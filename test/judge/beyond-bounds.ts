import type { History } from '../faults/history.js';
import type { IsBeyondBounds } from './belief-checker.js';

/** From the beginning of a fault that excuses two holders until every lease that it may have touched is over. */
export function beyondBounds({ run }: History, leaseMs: number): IsBeyondBounds {
  const spans = run.flatMap((line) => {
    if (line.type !== 'fault begins' || line.excuses?.includes('exclusion') !== true) return [];
    const end = run.find(
      (other) =>
        other.type === 'fault ends' && other.fault === line.fault && BigInt(other.atNs) > BigInt(line.atNs),
    );
    const untilNs = BigInt(end?.atNs ?? line.atNs) + BigInt(2 * leaseMs) * 1_000_000n;
    return [{ fromNs: BigInt(line.atNs), untilNs }];
  });
  return (_lock, fromNs) => spans.some((span) => span.fromNs <= fromNs && fromNs <= span.untilNs);
}
