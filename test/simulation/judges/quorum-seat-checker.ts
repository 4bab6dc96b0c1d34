import type { Violation } from '../../faults/verdict.js';
import { asksOf, named } from '../../judge/asks.js';
import type { Ask } from '../../judge/asks.js';
import type { Change } from '../../judge/oplog-entry.js';
import { clockOf, msOf } from '../../judge/run-clock.js';
import type { RunClock } from '../../judge/run-clock.js';
import type { Evidence } from '../world/world.js';
import { overlapNs } from '../../judge/overlap.js';
import { faultSpans, ofSet, stands } from './spans.js';
import { versionOf } from './parsed-versions.js';

/** A seat in one replica set, in ms on the clock of the journals since the run began. */
interface Seat {
  readonly set: number;
  readonly lock: string;
  readonly id: string;
  readonly process: string;
  readonly fromMs: number;
  untilMs: number;
}

/** An unanswered request takes effect, and is given back, within two store timeouts, unless a fault holds it back. */
const SETTLED_MS = 3_100;

/** The server has whole milliseconds. */
const ROUNDING_MS = 1;

/**
 * R1: the seats of a request, those of its failed rounds among them, end with one lease at most after the request has
 * failed, or its hold has ended.
 *
 * @param changes - By replica set, of the locks of quorums.
 * @param restored - The changes that put an old copy back. No request is the reason of a seat in it.
 */
export function* checkQuorumSeats(
  evidence: Evidence,
  changes: readonly (readonly Change[])[],
  restored: ReadonlySet<Change> = new Set(),
): Iterable<Violation> {
  const { history, plan, quorumProcesses } = evidence;
  const clock = clockOf(history);
  const asks = asksOf(history, clock);
  // Faults move the clock of a server forward, in all by less than this.
  const aheadMs = plan.clockAllowanceMs;
  const settledMs = SETTLED_MS + aheadMs;
  const restMs = plan.leaseMs + aheadMs + settledMs;
  const heldBackMs = heldBackIn(evidence, clock, changes.length, settledMs);
  const seats = changes.flatMap((ofOne, set) => seatsIn(ofOne, set, restored, evidence.aheadMs, clock));
  for (const seat of seats) {
    const worker = quorumProcesses.get(seat.process);
    const last = lastOf(asks.filter((asked) => asked.worker === worker && mayHaveSeat(asked, seat)));
    const endMs = last === undefined ? -Infinity : endMsOf(last);
    // The later a request has ended, the later its seat may come. So a seat that is too late for the last request is
    // too late for all.
    if (last === undefined || seat.fromMs > endMs + settledMs + heldBackMs(seat, endMs, seat.fromMs)) {
      yield violation(
        `${seat.lock}: no request is the reason of the seat ${seat.id} at ${seat.fromMs.toFixed(0)} ms`,
      );
    } else if (seat.untilMs > endMs + restMs + heldBackMs(seat, endMs, seat.untilMs)) {
      yield violation(
        `${named(last)} ended at ${endMs.toFixed(0)} ms, and its seat ${seat.id} stayed until ${seat.untilMs.toFixed(0)} ms`,
      );
    }
  }
}

/**
 * For how long faults hold back what a request has begun that ended at `fromMs`. A process that stands still sends it
 * when it goes on. A request that comes late arrives at the end of that fault. A fault that begins after everything has
 * settled holds nothing back.
 */
function heldBackIn(
  { history: { run }, quorumProcesses }: Evidence,
  clock: RunClock,
  sets: number,
  settledMs: number,
): (seat: Seat, fromMs: number, untilMs: number) => number {
  const startNs = Number(clock.atNs(0));
  const stood = new Map([...quorumProcesses].map(([process, worker]) => [process, stands(run, worker)]));
  const late = Array.from({ length: sets }, (_, set) => faultSpans(ofSet(run, set), 'requests come late'));
  return ({ process, set }, fromMs, untilMs) => {
    if (untilMs <= fromMs) return 0;
    const [fromNs, untilNs] = [startNs + fromMs * 1e6, startNs + untilMs * 1e6];
    const still = stood.get(process) ?? [];
    const settledNs = fromNs + settledMs * 1e6 + overlapNs(still, fromNs, untilNs);
    const holding = (late[set] ?? []).filter((span) => span.fromNs <= settledNs);
    return overlapNs([...still, ...holding], fromNs, untilNs) / 1e6;
  };
}

const violation = (what: string): Violation => ({ invariant: 'R1', checker: 'quorum seats', what });

const mayHaveSeat = ({ lock, askedNs }: Ask, seat: Seat): boolean =>
  lock === seat.lock && msOf(askedNs) <= seat.fromMs + ROUNDING_MS;

/** The request that has ended last, or has not ended. */
const lastOf = (asks: readonly Ask[]): Ask | undefined =>
  asks.reduce<Ask | undefined>(
    (last, ask) => (last === undefined || endMsOf(ask) > endMsOf(last) ? ask : last),
    undefined,
  );

/** A worker that was killed before the end of its request extends nothing: its seats end by themselves. */
const endMsOf = ({ releasedNs, lostNs, notGranted }: Ask): number =>
  msOf(Math.min(releasedNs ?? Infinity, lostNs ?? Infinity, notGranted?.atNs ?? Infinity));

/** A seat ends when it is given back, or at its expiry: an expired lease stays stored until the next update. */
function seatsIn(
  changes: readonly Change[],
  set: number,
  restored: ReadonlySet<Change>,
  aheadMs: number,
  clock: RunClock,
): readonly Seat[] {
  const startMs = Number(clock.atNs(0)) / 1e6 + aheadMs;
  const open = new Map<string, Seat>();
  const seats: Seat[] = [];
  for (const change of changes) {
    const { name, after, wallMs } = change;
    const { leases } = versionOf(after);
    const atMs = wallMs - startMs;
    for (const { id, process, expiresAt } of leases) {
      const key = `${name} ${id}`;
      const seat = open.get(key) ?? { set, lock: name, id, process, fromMs: atMs, untilMs: 0 };
      if (!open.has(key) && !restored.has(change)) seats.push(seat);
      open.set(key, seat);
      seat.untilMs = expiresAt.getTime() - startMs;
    }
    for (const [key, seat] of open) {
      if (seat.lock !== name || leases.some(({ id }) => id === seat.id)) continue;
      seat.untilMs = Math.min(seat.untilMs, atMs);
      open.delete(key);
    }
  }
  return seats;
}
