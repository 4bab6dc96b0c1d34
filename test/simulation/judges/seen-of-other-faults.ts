import type { WorkerLine } from '../../faults/history.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { Evidence } from '../world/world.js';
import type { Judgement } from './judge-run.js';
import { versionOf } from './parsed-versions.js';
import type { Sometimes } from './sometimes-list.js';
import { faultSpans, isIn, ofSet } from './spans.js';
import type { Span } from '../../judge/overlap.js';

/** What came of the faults that are drawn by themselves. */
export function* ofOtherFaults(
  evidence: Evidence,
  { changes, restored }: Pick<Judgement, 'changes' | 'restored'>,
): Iterable<Sometimes> {
  const { plan, history, doubled } = evidence;
  if (doubled.length > 0) yield* ofDoubled(doubled, changes);
  const silences = faultSpans(ofSet(history.run, 0), 'change streams are silent');
  if (silences.length > 0) {
    for (const [worker, lines] of history.workers.entries())
      if (plan.processes[worker]?.isPolling === false) yield* inSilence(lines, silences);
  }
  if (restored.size > 0) yield 'an old copy of a lock is restored';
}

/** A request of this attempt came twice, and the attempt has its lease. */
function* ofDoubled(doubled: readonly string[], changes: readonly Change[]): Iterable<Sometimes> {
  for (const { before, after } of changes) {
    const known = versionOf(before).leases.map(({ id }) => id);
    const isGranted = versionOf(after).leases.some(({ id }) => !known.includes(id) && isAmong(doubled, id));
    if (isGranted) yield 'a request that comes twice is granted';
  }
}

const isAmong = (doubled: readonly string[], id: string): boolean =>
  doubled.some((text) => text.includes(id));

/** A request is at least so old when it is granted: it has waited. */
const WAITED_NS = 50e6;

function* inSilence(lines: readonly WorkerLine[], silences: readonly Span[]): Iterable<Sometimes> {
  const asked = new Map<number, number>();
  for (const line of lines) {
    if (line.type === 'asked') asked.set(line.ask, Number(line.atNs));
    if (line.type !== 'granted') continue;
    const [fromNs, ns] = [asked.get(line.ask) ?? Infinity, Number(line.atNs)];
    if (ns - fromNs > WAITED_NS && isIn(silences, ns))
      yield 'a waiter is granted while change streams are silent';
  }
}
