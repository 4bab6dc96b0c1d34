import type { Lease, Waiter } from '../../src/protocol/lock-document.js';
import type { Operation } from '../../src/protocol/operation.js';
import type { Update } from './update.js';

/** Leaders that may follow out of the order of the queue: the same candidate, and the candidate of a hand-over. */

const isSilent = ({ candidateId, expiresAt, transitionMs = 0, ending }: Lease, nowMs: number): boolean =>
  candidateId !== undefined && expiresAt.getTime() - transitionMs <= nowMs && ending !== true;

/** The attempt that waits behind its own silent term, although an update could have admitted it. */
export function heirWaiting({ after, nowMs }: Update): string | undefined {
  const [leader] = after.leases;
  if (leader === undefined || !isSilent(leader, nowMs)) return undefined;
  return after.queue.find(([, waiter]) => waiter.candidateId === leader.candidateId)?.[0];
}

/** All waiters and requests of this update, with their candidate ids. */
const standingIn = ({ before, operations }: Update): readonly (readonly [string, string | undefined])[] => [
  ...before.queue.map(([id, { candidateId }]) => [id, candidateId] as const),
  ...operations.flatMap((operation) =>
    'request' in operation ? [[operation.request.id, operation.request.candidateId] as const] : [],
  ),
];

const handsOver = (operation: Operation, id: string, update: Update): boolean =>
  operation.type === 'handOver' &&
  operation.id === id &&
  standingIn(update).some(([, candidateId]) => candidateId === operation.candidateId);

/** An attempt that waits, asks or leads. */
interface Standing {
  readonly id: string;
  readonly candidateId?: string | undefined;
}

/** Whether this attempt may have been admitted and have made room for its heir before its request comes again. */
export function mayBeSucceeded(
  id: string,
  known: readonly Standing[],
  earlier: readonly Operation[],
): boolean {
  const asking = earlier.flatMap((each) => ('request' in each ? [each.request] : []));
  const standing: readonly Standing[] = [...known, ...asking];
  const own = standing.filter((each) => each.id === id).map(({ candidateId }) => candidateId);
  return standing.some(
    ({ id: other, candidateId }) => other !== id && candidateId !== undefined && own.includes(candidateId),
  );
}

/** Whether this member, which no operation removed, may have made room for its heir or for the candidate it named. */
export function mayHaveMadeRoom(update: Update, id: string, member: Lease | Waiter): boolean {
  const { operations, nowMs } = update;
  if (operations.some((operation) => handsOver(operation, id, update))) return true;
  if (!('token' in member) || !isSilent(member, nowMs)) return false;
  const heirs = standingIn(update).filter(
    ([other, candidateId]) => other !== id && candidateId === member.candidateId,
  );
  // If there are several operations, another one may have removed the heir in turn.
  return heirs.some(
    ([heir]) => operations.length > 1 || update.after.leases.some((lease) => lease.id === heir),
  );
}

/** Whether this newcomer may overtake the queue. */
export function mayOvertake(update: Update, { candidateId }: Lease): boolean {
  const { before, operations, nowMs } = update;
  const isNamed = operations.some(
    (operation) => operation.type === 'handOver' && operation.candidateId === candidateId,
  );
  if (isNamed && candidateId !== undefined) return true;
  return before.leases.some((lease) => lease.candidateId === candidateId && isSilent(lease, nowMs));
}
