import type { History, Interventions, LeaseTokens, Mode, Seat, WorkerLine } from '../faults/history.js';
import { clockOf, nsOf } from './run-clock.js';
import type { RunClock } from './run-clock.js';

/** A mode that is believed from then on, and the token that came with it. */
export interface ModeChange {
  readonly atNs: number;
  readonly to: Mode;
  readonly token: number;
}

/** One request of one worker, with everything that its lines say of it. Times are in ns since the run began. */
export interface Ask {
  readonly worker: number;
  readonly ask: number;
  readonly lock: string;
  /** The limit of a semaphore is the one that was stored at the grant. */
  seat: Seat;
  readonly timeoutMs: number | null;
  /** Whether its call asks for several locks. */
  readonly isOneOfSeveral: boolean;
  readonly askedNs: number;
  /** `id` and `token` are those of the first grant. */
  granted?: { readonly atNs: number; readonly id: string; readonly token: number };
  notGranted?: { readonly atNs: number; readonly code: string; readonly isKnown: boolean };
  /** The end of the last promise. */
  promisedNs: number;
  readonly changes: ModeChange[];
  /** Whether the worker waits for a change of mode, or for the answer to an add. */
  isBusy: boolean;
  lostNs?: number;
  /** When the lost hold was last seen in doubt, with its deadline ahead; at most two leases after its last promise. */
  openNs?: number;
  lostWhy?: string;
  lostSays?: string;
  /** The loss came while the worker awaited a call and did not look at the hold: the last promise may be older. */
  isLostUnseen?: boolean;
  notHeldNs?: number;
  /** When an operator emptied the seat. From then on only tokens protect. */
  evictedNs?: number;
  /** When the holder was asked to release. */
  requestedNs?: number;
  requestedSays?: string;
  /** When the leader began to end its term. */
  termEndsNs?: number;
  /** When the hold was promised again after its loss, or after a look at the end of its last promise: a violation. */
  revivedNs?: number;
  releasingNs?: number;
  releasedNs?: number;
}

/** Every request of the history, in the order in which each worker asked. */
export function asksOf(history: History, clock: RunClock = clockOf(history)): readonly Ask[] {
  return history.workers.flatMap((lines, worker) => {
    const asks = new Map<number, Ask>();
    const leaseMs = lines.find((line) => line.type === 'started')?.leaseMs ?? 0;
    for (const line of lines) {
      if (line.type === 'asked') {
        const { ask, lock, seat, timeoutMs, isOneOfSeveral = false } = line;
        const askedNs = clock.ns(line.atNs);
        asks.set(ask, {
          ...{ worker, ask, lock, seat, timeoutMs, isOneOfSeveral, askedNs },
          promisedNs: 0,
          changes: [],
          isBusy: false,
        });
      } else if ('ask' in line) {
        const asked = asks.get(line.ask);
        if (asked === undefined) throw new Error(`worker ${worker} never asked for ${line.ask}`);
        record(asked, line, clock, leaseMs);
      }
    }
    const { interventions } = history;
    if (interventions !== undefined)
      for (const asked of asks.values()) intervene(asked, interventions, clock);
    return [...asks.values()];
  });
}

/** What operators did to this hold, and to the limit under which it was granted. */
function intervene(
  asked: Ask,
  { evictions, grantLimits }: Pick<Interventions, 'evictions' | 'grantLimits'>,
  clock: RunClock,
): void {
  const isOwn = (lease: LeaseTokens): boolean => isLeaseOf(asked, lease);
  const eviction = evictions.find(isOwn);
  if (eviction !== undefined) asked.evictedNs = clock.ns(eviction.atNs);
  const { seat } = asked;
  const limit = seat.kind === 'semaphore' ? grantLimits.find(isOwn)?.limit : undefined;
  if (seat.kind === 'semaphore' && limit !== undefined) asked.seat = { ...seat, limit };
}

/** Whether the hold that this request got has this lease. */
const isLeaseOf = ({ lock, granted }: Ask, lease: LeaseTokens): boolean =>
  granted !== undefined &&
  lease.lock === lock &&
  lease.id === granted.id &&
  lease.firstToken <= granted.token &&
  granted.token <= lease.lastToken;

function record(asked: Ask, line: WorkerLine, clock: RunClock, leaseMs: number): void {
  const atNs = clock.ns(line.atNs);
  if (line.type === 'promised' && isOver(asked)) asked.revivedNs ??= atNs;
  if ('untilNs' in line) asked.promisedNs = Math.max(asked.promisedNs, clock.ns(line.untilNs));
  if (line.type === 'granted') asked.granted ??= { atNs, id: line.id, token: line.token };
  if (line.type === 'not granted') asked.notGranted = { atNs, code: line.code, isKnown: line.isKnown };
  if (line.type === 'changed') asked.changes.push({ atNs, to: line.to, token: line.token });
  if (line.type === 'changing' && isWeaker(line.to, modeOf(asked))) {
    asked.changes.push({ atNs, to: line.to, token: tokenOf(asked) });
  }
  if (line.type === 'not held') asked.notHeldNs ??= atNs;
  if (line.type === 'lost') {
    asked.lostNs ??= atNs;
    if (line.openNs !== undefined) {
      // A doubt that lasted longer would be a fault of the library, and excuses nothing.
      asked.openNs ??= Math.min(clock.ns(line.openNs), asked.promisedNs + nsOf(2 * leaseMs));
    }
    asked.lostWhy ??= line.why;
    asked.lostSays ??= line.says ?? '';
    asked.isLostUnseen ??= asked.isBusy;
  }
  if (line.type === 'changing' || line.type === 'adding') asked.isBusy = true;
  if (line.type === 'changed' || line.type === 'not changed' || line.type === 'added') asked.isBusy = false;
  if (line.type === 'release requested') {
    asked.requestedNs ??= atNs;
    asked.requestedSays ??= line.says ?? '';
  }
  if (line.type === 'term ends') asked.termEndsNs ??= atNs;
  if (line.type === 'releasing') asked.releasingNs ??= atNs;
  if (line.type === 'released') asked.releasedNs ??= atNs;
}

/** A reported loss is final. So is the end of the last promise, once a look has found it. */
const isOver = ({ lostNs, notHeldNs = -Infinity, promisedNs }: Ask): boolean =>
  lostNs !== undefined || promisedNs <= notHeldNs;

const STRENGTH: Readonly<Record<Mode, number>> = { read: 0, upgradeable: 1, write: 2 };

const isWeaker = (to: Mode, from: Mode | undefined): boolean =>
  from !== undefined && STRENGTH[to] < STRENGTH[from];

function modeOf({ seat, changes }: Ask): Mode | undefined {
  return changes.at(-1)?.to ?? (seat.kind === 'reader-writer' ? seat.mode : undefined);
}

const tokenOf = ({ granted, changes }: Ask): number => changes.at(-1)?.token ?? granted?.token ?? 0;

/** A request, in words for people. */
export const named = ({ worker, ask, lock }: Ask): string => `${lock}: worker ${worker}, ask ${ask}`;
