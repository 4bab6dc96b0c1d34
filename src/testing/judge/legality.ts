import type { Lease, LockKind, Waiter } from '../../protocol/lock-document.js';
import type { Version } from './lock-version.js';

interface Rules {
  /** Tells why this version breaks S1, by the rules of its kind; `undefined` if the version does not break S1. */
  wrongWith(version: Version): string | undefined;
  /** Whether the head of the queue could be admitted beside the leases of this version. */
  mayEnter(version: Version, head: Waiter): boolean;
}

const inMode = ({ leases }: Version, mode: string): readonly Lease[] =>
  leases.filter((lease) => lease.mode === mode);

const oneSeat: Rules = {
  wrongWith: ({ leases }) => (leases.length > 1 ? 'more than one holder' : undefined),
  mayEnter: ({ leases }) => leases.length === 0,
};

const RULES: Readonly<Record<LockKind, Rules>> = {
  mutex: oneSeat,
  election: oneSeat,
  'reader-writer': {
    wrongWith(version) {
      const { leases, writer } = version;
      const writes = inMode(version, 'write');
      if (writes.length > 0 && leases.length > 1) return 'a writer excludes nobody';
      if (writes[0]?.id !== writer) return 'the writer is not the one in the seat of the writer';
      if (inMode(version, 'upgradeable').length > 1) return 'more than one upgradeable reader';
      const strange = leases.find(({ mode, upgrading }) => upgrading === true && mode !== 'upgradeable');
      return strange === undefined ? undefined : `${strange.id} upgrades and is not upgradeable`;
    },
    mayEnter(version, { mode }) {
      if (version.leases.some(({ upgrading }) => upgrading === true)) return false;
      if (mode === 'write') return version.leases.length === 0;
      if (inMode(version, 'write').length > 0) return false;
      return mode === 'read' || inMode(version, 'upgradeable').length === 0;
    },
  },
  semaphore: {
    wrongWith({ limit = 0, queue, leases }) {
      const members = [...leases, ...queue.map(([, waiter]) => waiter)];
      if (members.some(({ permits = 0 }) => permits < 1)) return 'a lease or a place has no permit';
      return limit < 1 ? 'there is no limit' : undefined;
    },
    mayEnter: (version, { permits = 1 }) => permits <= (version.limit ?? 0) - permitsOf(version.leases),
  },
};

export const permitsOf = (leases: readonly Lease[]): number =>
  leases.reduce((sum, { permits = 0 }) => sum + permits, 0);

/** Checks S1 for one version: it follows the rules of its kind, and no attempt appears twice in leases and queue. */
export function checkLegal(version: Version): void {
  const wrong = RULES[version.kind].wrongWith(version);
  if (wrong !== undefined) throw new Error(`S1: ${wrong}`);
  const ids = [...version.leases.map(({ id }) => id), ...version.queue.map(([id]) => id)];
  if (new Set(ids).size < ids.length) throw new Error('S1: an attempt is there twice');
}

/**
 * L2: no seat stays free that the head of the queue could have, and no upgrade waits while its lease is the only one.
 * L1: no waiter asks for more permits than the limit.
 */
export function checkNoSeatStaysEmpty(version: Version): void {
  const { kind, leases, limit = Infinity, queue } = version;
  const [only, ...others] = leases;
  if (only?.upgrading === true && others.length === 0)
    throw new Error('L2: an upgrade waits although it is alone');
  const [head] = queue;
  if (head !== undefined && RULES[kind].mayEnter(version, head[1])) {
    throw new Error(`L2: a seat is free, and ${head[0]} waits`);
  }
  const inVain = queue.find(([, { permits = 1 }]) => permits > limit);
  if (inVain !== undefined) throw new Error(`L1: ${inVain[0]} waits for more than there will ever be`);
}
