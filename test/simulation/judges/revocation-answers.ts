import { readWake } from '../../../src/protocol/wake.js';
import { revocationOf } from '../../../src/protocol/pipeline/revocation.js';
import { leaseOf } from '../../../src/testing/judge/step.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import type { RunLine } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import { overlaps } from '../../judge/overlap.js';
import { evictedIn, grantOf } from './interventions.js';
import type { OperatorCall } from './operator-calls.js';
import type { When, WhenOf } from './server-time.js';
import { disturbances } from './spans.js';
import { versionOf } from './parsed-versions.js';

/** One version of a lock, from the update that wrote it to the next one. */
interface Stored {
  readonly was: Version;
  readonly is: Version;
  readonly exists: boolean;
  readonly revoked: unknown;
  /** An old copy may have leases that are marked already. */
  readonly isRestored: boolean;
  readonly wallMs: number;
  readonly written: When;
  untilMs: number;
}

type Answer = NonNullable<OperatorCall['answer']>;

/** After so long, a majority has a version where the members reach each other. */
const REPLICATED_MS = 100;

/** While one of these lasts, a majority may get a version late. */
const REPLICATION_FAULTS: readonly string[] = [
  ...['all members stop', 'the primary steps down', 'the primary is cut off from the other members'],
  ...['the primary is cut off from the other members, and reports it', 'lock documents are lost'],
  'an old copy is restored',
];

interface Times {
  readonly when: WhenOf;
  readonly run: readonly RunLine[];
  readonly restored: ReadonlySet<Change>;
}

/**
 * R2: what a call says of holds and limits is what the versions show that were stored during the call. It names each hold
 * that it means and that is held all the time.
 */
export function* checkAnswers(
  calls: readonly OperatorCall[],
  changes: readonly Change[],
  { when, run, restored }: Times,
): Iterable<Violation> {
  const locks = storedByLock(changes, when, restored);
  const faults = disturbances(
    run.filter((line) => !('what' in line) || REPLICATION_FAULTS.includes(line.what)),
  );
  for (const call of calls) {
    const { answer, lock, fromMs } = call;
    if (answer?.isDone !== true) continue;
    const since = (ms: number): readonly Stored[] =>
      (locks.get(lock) ?? []).filter(
        ({ written, untilMs }) => written.earliestMs <= answer.atMs && ms <= untilMs,
      );
    if (call.does === 'resize') {
      yield* resized(call, since(fromMs));
      continue;
    }
    yield* revoked(call, answer, since(fromMs));
    yield* namesOthers(call, answer);
    const knownMs = fromMs - REPLICATED_MS;
    if (!overlaps(faults, knownMs * 1e6, fromMs * 1e6)) yield* leavesOut(call, answer, since(knownMs), when);
  }
}

const namedIn = ({ asked, gone, evicted }: Answer): readonly string[] => [...asked, ...gone, ...evicted];

function* namesOthers(call: OperatorCall, answer: Answer): Iterable<Violation> {
  const named = namedIn(answer);
  const { id } = call;
  if (new Set(named).size < named.length) yield wrong(call, `names a hold twice: ${named.join()}`);
  if (id !== undefined && named.join() !== id)
    yield wrong(call, `means ${id} and names ${named.join() || 'nothing'}`);
}

function* leavesOut(
  call: OperatorCall,
  answer: Answer,
  stored: readonly Stored[],
  when: WhenOf,
): Iterable<Violation> {
  const named = namedIn(answer);
  const [first] = stored;
  for (const { id } of first?.is.leases ?? []) {
    if (named.includes(id) || (call.id !== undefined && call.id !== id)) continue;
    const isHeld = stored.every(({ is }) => {
      const lease = leaseOf(is, id);
      return lease !== undefined && when(lease.expiresAt.getTime()).earliestMs > answer.atMs;
    });
    if (isHeld) yield wrong(call, `leaves out ${id}, which is held all the time`);
  }
}

function storedByLock(
  changes: readonly Change[],
  when: WhenOf,
  restored: ReadonlySet<Change>,
): ReadonlyMap<string, readonly Stored[]> {
  const locks = new Map<string, Stored[]>();
  for (const change of changes) {
    const { name, before, after, wallMs } = change;
    const written = when(wallMs);
    const ofLock = locks.get(name) ?? [nothingYet()];
    const last = ofLock.at(-1);
    if (last !== undefined) last.untilMs = written.latestMs;
    const [was, is] = [versionOf(before), versionOf(after)];
    const revoked: unknown = after?.['revoked'];
    const isRestored = restored.has(change);
    ofLock.push({ was, is, exists: after !== null, revoked, isRestored, wallMs, written, untilMs: Infinity });
    locks.set(name, ofLock);
  }
  return locks;
}

const nothingYet = (): Stored => ({
  ...{ was: versionOf(null), is: versionOf(null), exists: false, revoked: undefined, isRestored: false },
  ...{ wallMs: -Infinity, written: { earliestMs: -Infinity, latestMs: -Infinity }, untilMs: Infinity },
});

/** Where there is no document, a resize creates none. */
function* resized(call: OperatorCall, stored: readonly Stored[]): Iterable<Violation> {
  const isThere = stored.some(({ exists, is }) => !exists || is.limit === call.limit);
  if (!isThere && stored.length > 0)
    yield wrong(call, `says that the limit is ${call.limit ?? ''}, and it never was`);
}

function* revoked(call: OperatorCall, answer: Answer, stored: readonly Stored[]): Iterable<Violation> {
  const during = stored.filter(({ written }) => written.latestMs >= call.fromMs);
  for (const id of answer.asked) {
    // A second call for one hold may change nothing, and writes no version then.
    if (!stored.some((each) => isMarked(each, id))) yield wrong(call, `says that ${id} was asked`);
  }
  for (const id of answer.evicted) {
    if (!during.some((each) => isEvicted(each, id))) yield wrong(call, `says that ${id} was evicted`);
  }
  for (const id of answer.gone) {
    const isGone = stored.some((each) => isGoneIn(each, id, answer.atMs));
    if (stored.length > 0 && !isGone) yield wrong(call, `says that ${id} was gone`);
  }
}

/** The update has told the holder, and has marked its lease, unless the same update gave the lease back. */
function isMarked({ was, is, revoked: records, isRestored }: Stored, id: string): boolean {
  if (isRestored) return leaseOf(is, id)?.ending === true;
  const words = readWake(is.wake);
  if (!words.some((word) => word.endsWith(`:${id}:0`))) return false;
  const lease = leaseOf(is, id);
  if (lease === undefined) return words.some((word) => word.startsWith(`-${id}:`));
  const isNew = leaseOf(was, id)?.ending !== true;
  const isRecorded = !isNew || revocationOf(records, grantOf(lease)) !== undefined;
  return lease.ending === true && isRecorded;
}

const isEvicted = ({ was, is, revoked: records, wallMs }: Stored, id: string): boolean =>
  evictedIn(was, is, wallMs).some(
    (lease) => lease.id === id && revocationOf(records, grantOf(lease)) !== undefined,
  );

/** Whether the lease was not stored, or over, at some time before the answer. */
function isGoneIn({ is, wallMs, written, untilMs }: Stored, id: string, answeredMs: number): boolean {
  const lease = leaseOf(is, id);
  if (lease === undefined) return true;
  // By the server's clock, counted from the update.
  const overMs = written.earliestMs + (lease.expiresAt.getTime() - wallMs);
  return overMs <= Math.min(untilMs, answeredMs);
}

const wrong = ({ lock, worker, does, fromMs }: OperatorCall, words: string): Violation => ({
  ...{ invariant: 'R2', checker: 'revocations' },
  what: `${lock}: the call of worker ${worker} at ${fromMs.toFixed(1)} ms (${does}) ${words}`,
});
