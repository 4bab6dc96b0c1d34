import type { ClaimOutcome, OutcomeWithoutTerm } from '../../../src/protocol/jobs/job-claims.js';
import type { Lease, LockKind } from '../../../src/protocol/lock-document.js';
import type { Exchange, HandOver, Request, Resize } from '../../../src/protocol/operation.js';
import { newcomersIn } from '../../judge/invariants.js';
import type { Update } from '../../judge/update.js';
import { permitsOf } from '../../../src/testing/judge/legality.js';
import type { Refusal } from '../reference/model-document.js';

/** An update, with what several happenings need to know of it. */
interface Seen extends Update {
  readonly isAdopted: boolean;
  /** The leases of admitted waiters, in the order of the leases. */
  readonly admitted: readonly Lease[];
  /** The live leases from before the update, each with its state after it. */
  readonly kept: readonly { readonly was: Lease; readonly is: Lease | undefined }[];
  readonly exchanges: readonly Exchange[];
  readonly resizes: readonly Resize[];
}

type Happenings = Readonly<Record<string, (seen: Seen) => boolean>>;

const REFUSALS: readonly Refusal[] = ['busy', 'late', 'full', 'other-kind'];

const isUpgrading = (lease: Lease | undefined): boolean => lease?.upgrading === true;

/** Whether a lease that waited for its upgrade is now as `is` says. */
const upgradeBecame = ({ kept }: Seen, is: (lease: Lease) => boolean): boolean =>
  kept.some((lease) => isUpgrading(lease.was) && lease.is !== undefined && is(lease.is));

const isFailed = ({ mode, upgrading }: Lease): boolean => mode === 'upgradeable' && upgrading === false;

const isDowngraded = ({ kept }: Seen, to: string): boolean =>
  kept.some(({ was, is }) => was.mode === 'write' && is?.mode === to);

const isAnyOver = (members: readonly { readonly expiresAt: Date }[], nowMs: number): boolean =>
  members.some(({ expiresAt }) => expiresAt.getTime() <= nowMs);

const COMMON: Happenings = {
  'a waiter is admitted': ({ admitted }) => admitted.length > 0,
  'a lease expires': ({ before, nowMs }) => isAnyOver(before.leases, nowMs),
  'a place lapses': ({ before, nowMs }) =>
    isAnyOver(
      before.queue.map(([, waiter]) => waiter),
      nowMs,
    ),
  'a waiter cancels': ({ before, operations }) =>
    operations.some(
      ({ type, ...rest }) => type === 'cancel' && 'id' in rest && before.queue.some(([id]) => id === rest.id),
    ),
  'a holder or a waiter sends its request again': ({ before, operations }) =>
    operations.some(
      (operation) =>
        'request' in operation &&
        [...before.leases.map(({ id }) => id), ...before.queue.map(([id]) => id)].includes(
          operation.request.id,
        ),
    ),
  'a holder is asked to release': ({ kept }) =>
    kept.some(({ was, is }) => was.ending !== true && is?.ending === true),
  'the document of another kind is taken over': ({ isAdopted }) => isAdopted,
  'four operations go in one update': ({ operations }) => operations.length >= 4,
};

const isAnyKept = (leases: readonly Lease[]): boolean => leases.some(({ keeps = 0 }) => keeps > 0);

/** Whether the only operation is a request of this type, in time or late, that is not admitted while a lease is kept. */
const isShutOut = ({ operations, nowMs, after }: Seen, type: 'enqueue' | 'try', isInTime = true): boolean => {
  const [only, ...others] = operations;
  if (only?.type !== type || others.length > 0) return false;
  const { id, notAfter } = only.request;
  const isIn = after.leases.some((lease) => lease.id === id);
  return !isIn && notAfter.getTime() >= nowMs === isInTime && isAnyKept(after.leases);
};

const KEEPING: Happenings = {
  'a lease that may be kept is granted': (seen) => isAnyKept(newcomersIn(seen)),
  'a request is queued behind a kept lease': (seen) => isShutOut(seen, 'enqueue'),
  'a try is refused because of a kept lease': (seen) => isShutOut(seen, 'try'),
  'a late request finds a kept lease': (seen) =>
    isShutOut(seen, 'enqueue', false) || isShutOut(seen, 'try', false),
};

/** For a lock with several seats. */
const KEEPING_SIDE_BY_SIDE: Happenings = {
  'a request is admitted beside a kept lease': (seen) =>
    seen.operations.length === 1 &&
    newcomersIn(seen).length > 0 &&
    isAnyKept(seen.kept.flatMap(({ is }) => is ?? [])),
  'several requests with different reserves are admitted together': ({ operations, admitted }) =>
    operations.length === 1 && new Set(admitted.map(({ keeps = 0 }) => keeps)).size > 1,
};

/** For a lock whose kept seats reserve no tokens. */
const KEEPING_READS: Happenings = {
  'an upgrade waits behind a kept read': (seen) => isHeldBack(seen, true),
  'a try to upgrade finds a kept read': (seen) => isHeldBack(seen, false),
  'a kept read is granted together with others': ({ admitted }) =>
    admitted.length > 1 && isAnyKept(admitted) && !admitted.every(({ keeps = 0 }) => keeps > 0),
};

/** Whether an upgrade of this sort told the keeper of another lease. */
const isHeldBack = ({ exchanges, kept, after }: Seen, isWaiting: boolean): boolean =>
  kept.some(
    ({ is }) =>
      is?.mode === 'upgradeable' &&
      exchanges.some(
        ({ id, to, change, waits }) =>
          id === is.id && to === 'write' && waits === isWaiting && change === is.change,
      ),
  ) && after.wake.includes(':-1');

const READER_WRITER: Happenings = {
  'several readers are admitted together': ({ admitted }) => admitted.length > 1,
  'a writer is admitted from the queue': ({ admitted }) => admitted.some(({ mode }) => mode === 'write'),
  'an upgrade is granted at once': ({ kept }) =>
    kept.some(({ was, is }) => was.mode === 'upgradeable' && !isUpgrading(was) && is?.mode === 'write'),
  'an upgrade has to wait': ({ kept }) => kept.some(({ was, is }) => !isUpgrading(was) && isUpgrading(is)),
  'an upgrade that waited is granted': (seen) => upgradeBecame(seen, ({ mode }) => mode === 'write'),
  'an upgrade that waited is granted because a reader died': (seen) =>
    isAnyOver(seen.before.leases, seen.nowMs) && upgradeBecame(seen, ({ mode }) => mode === 'write'),
  'an upgrade that waited is cancelled': (seen) => upgradeBecame(seen, isFailed),
  'a cancelled upgrade admits the readers behind it': (seen) =>
    seen.admitted.length > 0 && upgradeBecame(seen, isFailed),
  'an upgrade that waited becomes a read': (seen) => upgradeBecame(seen, ({ mode }) => mode === 'read'),
  'a lease expires while its upgrade waits': ({ before, nowMs }) =>
    isAnyOver(before.leases.filter(isUpgrading), nowMs),
  'a try to upgrade fails': ({ kept, exchanges }) =>
    kept.some(
      ({ was, is }) =>
        is !== undefined &&
        isFailed(is) &&
        exchanges.some(
          ({ id, to, waits, change }) => id === was.id && to === 'write' && !waits && change === is.change,
        ),
    ),
  'a try to upgrade succeeds': ({ kept, exchanges }) =>
    kept.some(
      ({ was, is }) =>
        was.mode === 'upgradeable' &&
        is?.mode === 'write' &&
        exchanges.some(({ id, waits, change }) => id === was.id && !waits && change === is.change),
    ),
  'a writer becomes upgradeable': (seen) => isDowngraded(seen, 'upgradeable'),
  'a writer becomes a reader': (seen) => isDowngraded(seen, 'read'),
  'a downgrade admits others': (seen) =>
    seen.admitted.length > 0 && (isDowngraded(seen, 'read') || isDowngraded(seen, 'upgradeable')),
  'an upgradeable reader becomes a plain one': ({ kept }) =>
    kept.some(({ was, is }) => was.mode === 'upgradeable' && !isUpgrading(was) && is?.mode === 'read'),
  'a change of mode arrives late, or twice': ({ kept, exchanges }) =>
    kept.some(({ was }) => exchanges.some(({ id, change }) => id === was.id && change <= (was.change ?? 0))),
  'a reader waits behind a writer': ({ after: { leases, queue } }) =>
    leases.some(({ mode }) => mode === 'read') &&
    queue[0]?.[1].mode === 'write' &&
    queue.some(([, { mode }]) => mode === 'read'),
  'a second upgradeable holds up a reader': ({ after: { leases, queue } }) =>
    leases.some(({ mode }) => mode === 'upgradeable') &&
    !leases.some(isUpgrading) &&
    queue[0]?.[1].mode === 'upgradeable' &&
    queue.some(([, { mode }]) => mode === 'read'),
  'a writer waits behind an upgrade': ({ after: { leases, queue } }) =>
    leases.some(isUpgrading) && queue.some(([, { mode }]) => mode === 'write'),
};

/** The only operation, if it hands over. */
const handOverIn = ({ operations }: Seen): HandOver | undefined => {
  const [only, ...others] = operations;
  return only?.type === 'handOver' && others.length === 0 ? only : undefined;
};

/** Whether the candidate that a hand-over names is admitted. */
const isHandedOver = (seen: Seen): boolean => {
  const named = handOverIn(seen);
  return named !== undefined && seen.admitted.some(({ candidateId }) => candidateId === named.candidateId);
};

const isSilentIn = ({ kept, nowMs }: Seen): boolean =>
  kept.some(({ was: { expiresAt, transitionMs = 0 } }) => expiresAt.getTime() - transitionMs <= nowMs);

/** Whether a claim or a call gets this answer. */
const isAnswered =
  (outcome: ClaimOutcome | OutcomeWithoutTerm | 'late') =>
  ({ after }: Seen): boolean =>
    new RegExp(String.raw` \+\w+:${outcome}`).test(after.wake);

const ELECTION: Happenings = {
  'a term is handed over': isHandedOver,
  'a term is handed over to a candidate further behind': (seen) =>
    isHandedOver(seen) && seen.before.queue[0]?.[0] !== seen.admitted[0]?.id,
  'a term is handed over to an unknown candidate, and goes on': (seen) =>
    seen.kept.some(({ was, is }) => was.id === handOverIn(seen)?.id && is !== undefined),
  'a candidate returns in the transition of its own term': ({ before, admitted, kept }) =>
    kept.some(({ was, is }) => is === undefined && was.candidateId === admitted[0]?.candidateId) &&
    before.queue.length > 0,
  'others wait through a transition': (seen) =>
    isSilentIn(seen) && seen.after.queue.length > 0 && seen.kept.some(({ is }) => is !== undefined),
  'an instant is claimed': isAnswered('claimed'),
  'an instant is claimed before its time': isAnswered('early'),
  'an instant is claimed by an attempt that does not lead': isAnswered('deposed'),
  'an instant is claimed without knowledge of the last one': isAnswered('outdated'),
  'an instant is claimed a second time, without a term': isAnswered('taken'),
  'an instant is claimed for a missing call': isAnswered('uncalled'),
  'an instant is claimed for a call': ({ after, operations }) =>
    operations.some((operation) => {
      if (operation.type !== 'claim' || operation.call === undefined) return false;
      return after.wake.includes(`+${operation.nonce}:claimed`);
    }),
  'a call comes too late': isAnswered('late'),
  'a job is called while a call is pending': ({ after, operations }) =>
    operations.some((operation) => {
      if (operation.type !== 'call' || operation.since === null) return false;
      return after.wake.includes(`+${operation.nonce}:${operation.since}/${operation.since - 1}`);
    }),
  'a candidate whose term was revoked does not return to it': ({ after: { leases, queue } }) =>
    queue.some(([, { candidateId }]) =>
      leases.some((lease) => lease.ending && lease.candidateId === candidateId),
    ),
};

const isLimitChangedBy = ({ before, operations, after }: Seen, how: 'mustMatch' | 'setsLimit'): boolean =>
  before.limit !== undefined &&
  after.limit !== before.limit &&
  operations.every((operation) => !('request' in operation) || operation.request[how] === true) &&
  operations.every(({ type }) => type !== 'resize');

const SEMAPHORE: Happenings = {
  'several requests are admitted together': ({ admitted }) => admitted.length > 1,
  'several permits are given at once': ({ admitted }) => admitted.some(({ permits = 1 }) => permits > 1),
  'the limit rises and admits a waiter': ({ before, after, resizes, admitted }) =>
    resizes.length > 0 && (after.limit ?? 0) > (before.limit ?? Infinity) && admitted.length > 0,
  'the limit falls below what is held': ({ after, resizes }) =>
    resizes.length > 0 && permitsOf(after.leases) > (after.limit ?? 0),
  'a permit is released while more than the limit are held': ({ before, after, operations }) =>
    permitsOf(before.leases) > (before.limit ?? Infinity) &&
    permitsOf(after.leases) >= (after.limit ?? 0) &&
    operations.some(({ type }) => type === 'leave') &&
    after.leases.length < before.leases.length,
  'a waiter is too big for the new limit': ({ before, after, resizes }) =>
    resizes.length > 0 && before.queue.some(([, { permits = 1 }]) => permits > (after.limit ?? 0)),
  'a resize comes late': ({ resizes, nowMs }) => resizes.some(({ notAfter }) => notAfter.getTime() < nowMs),
  'the head holds up a waiter that would fit': ({ after: { leases, queue, limit = 0 } }) =>
    queue.slice(1).some(([, { permits = 1 }]) => permits <= limit - permitsOf(leases)),
  'an idle lock takes the limit of a request that must match': (seen) => isLimitChangedBy(seen, 'mustMatch'),
  'a request sets the limit': (seen) => isLimitChangedBy(seen, 'setsLimit'),
};

const HAPPENINGS: Readonly<Record<LockKind, Happenings>> = {
  mutex: { ...COMMON, ...KEEPING },
  election: { ...COMMON, ...ELECTION },
  'reader-writer': { ...COMMON, ...KEEPING, ...KEEPING_READS, ...READER_WRITER },
  semaphore: { ...COMMON, ...KEEPING, ...KEEPING_SIDE_BY_SIDE, ...SEMAPHORE },
};

const CORRUPTED = 'the document is corrupt for a while';
const SHORT = 'a fast path applies';

/** Counts what happens in random histories, so that a test can tell that nothing important is missing. */
export class Coverage {
  readonly #happenings: Happenings;
  readonly #counts: Map<string, number>;

  constructor(kind: LockKind) {
    this.#happenings = HAPPENINGS[kind];
    const refusals = [...REFUSALS, ...(kind === 'semaphore' ? ['other-limit'] : [])];
    const names = [...Object.keys(this.#happenings), ...refusals.map(refused), CORRUPTED, SHORT];
    this.#counts = new Map(names.map((name) => [name, 0]));
  }

  /** What has happened less often than `count`, and how often. */
  rarerThan(count: number): readonly (readonly [name: string, count: number])[] {
    return [...this.#counts].filter(([, times]) => times < count);
  }

  note(update: Update, isAdopted: boolean, refusals: ReadonlyMap<Request, Refusal>): void {
    const { before, operations, nowMs, after } = update;
    const live = before.leases.filter(({ expiresAt }) => expiresAt.getTime() > nowMs);
    const seen: Seen = {
      ...update,
      isAdopted,
      admitted: newcomersIn(update).filter(({ id }) => before.queue.some(([queued]) => queued === id)),
      kept: live.map((was) => ({ was, is: after.leases.find(({ id }) => id === was.id) })),
      exchanges: operations.filter((operation): operation is Exchange => operation.type === 'exchange'),
      resizes: operations.filter((operation): operation is Resize => operation.type === 'resize'),
    };
    for (const [name, happens] of Object.entries(this.#happenings)) if (happens(seen)) this.#count(name);
    this.noteRefusals(refusals);
  }

  noteRefusals(refusals: ReadonlyMap<Request, Refusal>): void {
    for (const refusal of refusals.values()) this.#count(refused(refusal));
  }

  noteCorruption(): void {
    this.#count(CORRUPTED);
  }

  noteShort(): void {
    this.#count(SHORT);
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}

const refused = (refusal: string): string => `a request is refused: ${refusal}`;
