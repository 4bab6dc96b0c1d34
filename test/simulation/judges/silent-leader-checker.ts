import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import { versionOf } from './parsed-versions.js';

/**
 * L2: in the transition after a silent leader, its own candidate gets the seat by the next update that admits anybody. An
 * update that queues a request admits first.
 */
export function* checkSilentLeaders(changes: readonly Change[]): Iterable<Violation> {
  for (const { name, before, after, wallMs } of changes) {
    const [was, is] = [versionOf(before), versionOf(after)];
    const [leader] = is.leases;
    if (is.kind !== 'election' || leader === undefined || leader.ending === true) continue;
    const { expiresAt, transitionMs = 0, candidateId, id } = leader;
    if (wallMs <= expiresAt.getTime() - transitionMs || wallMs > expiresAt.getTime()) continue;
    const hasQueued = is.queue.some(([one]) => !was.queue.some(([other]) => other === one));
    const own = is.queue.find(
      ([, waiter]) => waiter.candidateId === candidateId && waiter.expiresAt.getTime() > wallMs,
    );
    if (!hasQueued || own === undefined) continue;
    const what = `${name}: ${own[0]} waits, although its candidate ${String(candidateId)} led until ${id} fell silent`;
    yield { invariant: 'L2', checker: 'silent leaders', what };
  }
}
