import { Timestamp } from 'mongodb';
import type { Document } from 'mongodb';

import { VersionJudge } from './oplog-checker.js';
import { LOCK } from './written-history.js';

/** Hand-written versions of a lock's document for tests of the judge of versions. */
export const WALL_MS = Date.UTC(2030, 0, 1);
export const TS = new Timestamp({ t: 1, i: 1 });
export const [live, over] = [new Date(WALL_MS + 1_000), new Date(WALL_MS - 1)];

export const member = { process: 'p', leaseMs: 30_000, expiresAt: live };
export const lease = (id: string, token: number, more: Document = {}): Document => ({
  ...member,
  id,
  token,
  ...more,
});
export const queue = (...ids: readonly string[]): Document =>
  Object.fromEntries(ids.map((id) => [id, member]));
/** Waiters of another process. */
export const othersQueue = (...ids: readonly string[]): Document =>
  Object.fromEntries(ids.map((id) => [id, { ...member, process: 'q' }]));
export const writers = (...ids: readonly string[]): Document =>
  Object.fromEntries(ids.map((id) => [id, { ...member, mode: 'write' }]));

const common = { _id: LOCK, v: 1, wake: '', purgeAt: new Date(WALL_MS + 60_000), queue: {} };
export const mutex = (holder: Document | null, more: Document = {}): Document => ({
  ...{ ...common, kind: 'mutex', fence: holder?.['token'] as unknown, holder },
  ...more,
});
export const semaphore = (limit: number, holders: readonly Document[], more: Document = {}): Document => ({
  ...{ ...common, kind: 'semaphore', fence: 9, limit, holders },
  ...more,
});
export const readerWriter = (readers: readonly Document[], more: Document = {}): Document => ({
  ...{ ...common, kind: 'reader-writer', fence: 9, writer: null, writerWaiting: false, readers },
  ...more,
});
export const reader = (id: string, token: number, more: Document = {}): Document =>
  lease(id, token, { mode: 'read', ...more });
export const upgradeable = (more: Document = {}): Document =>
  lease('wu', 1, { mode: 'upgradeable', ...more });
export const writer = (id: string, token: number, more: Document = {}): Document => ({
  writer: lease(id, token, { mode: 'write', ...more }),
});

export type Versions = readonly (Document | null)[];

export function judged(versions: Versions, mayVanish = false): VersionJudge {
  const judge = new VersionJudge({ toleranceMs: 50, mayVanish: () => mayVanish });
  for (const [index, after] of versions.entries()) {
    judge.take({
      ...{ name: LOCK, after, term: 4, wallMs: WALL_MS, ts: TS },
      before: versions[index - 1] ?? null,
    });
  }
  return judge;
}
