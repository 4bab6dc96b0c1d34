import type { Violation } from '../../faults/verdict.js';
import { asksOf } from '../../judge/asks.js';
import type { Ask } from '../../judge/asks.js';
import type { Change } from '../../judge/oplog-entry.js';
import { clockOf, msOf } from '../../judge/run-clock.js';
import type { Evidence } from '../world/world.js';
import { versionOf } from './parsed-versions.js';

/** A request leaves the queue just before it is answered, and this long after that at most, where nothing happens. */
const LEAVING_MS = 50;

/** L1: where no fault happens, a process has no more places in a queue than it has requests for that lock. */
export function* checkLeftovers(evidence: Evidence, changes: readonly Change[]): Iterable<Violation> {
  const { history, plan, aheadMs } = evidence;
  if (plan.faults.length > 0) return;
  const clock = clockOf(history);
  const startMs = Number(clock.atNs(0)) / 1e6 + aheadMs;
  const asks = grouped(asksOf(history, clock), keyOf);
  const workers = new Map(
    history.workers.map(([first], worker) => [first?.type === 'started' ? first.process : '', worker]),
  );
  for (const { name, after, wallMs } of changes) {
    const { kind, queue } = versionOf(after);
    if (kind === 'election') continue;
    const atMs = wallMs - startMs;
    for (const [process, places] of grouped(queue, ([, waiter]) => waiter.process)) {
      const ofProcess = asks.get(keyOf({ worker: workers.get(process) ?? -1, lock: name })) ?? [];
      const open = ofProcess.filter(
        (asked) => msOf(asked.askedNs) <= atMs + 1 && atMs - LEAVING_MS <= answeredMs(asked),
      );
      if (places.length <= open.length) continue;
      const what = `${name}: ${process} has ${places.length} places at ${atMs.toFixed(0)} ms, and ${open.length} requests`;
      yield { invariant: 'L1', checker: 'leftovers', what };
    }
  }
}

function grouped<T>(things: readonly T[], keyFor: (thing: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const thing of things) {
    const key = keyFor(thing);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return groups;
}

const keyOf = ({ worker, lock }: Pick<Ask, 'worker' | 'lock'>): string => `${String(worker)} ${lock}`;

const answeredMs = ({ granted, notGranted }: Ask): number =>
  msOf(Math.min(granted?.atNs ?? Infinity, notGranted?.atNs ?? Infinity));
