import { LOCK_KINDS } from '../../protocol/lock-document.js';
import type { StoredDocument, StoredVersion } from './history.js';
import { versionOf } from './lock-version.js';
import { shapeFault } from './stored-shape.js';
import { lastTokenOf } from './token-blocks.js';
import { wrongIn } from './version-rules.js';
import type { Invariant, Step } from './step.js';

/** A broken invariant, and the version that breaks it. */
export interface Violation {
  /** The number of the invariant in docs/protocol.md. */
  readonly invariant: Invariant;
  /** `database.collection` */
  readonly namespace: string;
  /** The `_id` of the document. */
  readonly id: unknown;
  /** The index of the version in `MemoryReplicaSet.versions`. */
  readonly version: number;
  /** What is wrong, in words. */
  readonly what: string;
}

interface Judged {
  /** The newest version that had the shape of a lock; `null` if the document does not exist. */
  document: StoredDocument | null;
  /** The highest token given or reserved so far. A deletion of the document does not reset it. */
  lastToken: number;
}

/** Judges every version of every lock document by itself, and against the version before it. */
export function violationsIn(versions: readonly StoredVersion[]): readonly Violation[] {
  const locks = new Map<string, Judged>();
  return versions.flatMap((version, index) => {
    const { namespace, id, document } = version;
    // The name of a lock is a text, and an application's document beside it may have the number 5 for its `_id`.
    if (typeof id !== 'string') return [];
    const key = JSON.stringify([namespace, id]);
    const judged = locks.get(key) ?? { document: null, lastToken: 0 };
    if (!locks.has(key) && !isLock(document)) return [];
    locks.set(key, judged);
    return [...judge(judged, version)].map(({ invariant, what }) => {
      return { invariant, namespace, id, version: index, what };
    });
  });
}

const isLock = (document: StoredDocument | null): boolean =>
  document !== null && LOCK_KINDS.some((kind) => kind === document['kind']) && 'queue' in document;

function* judge(
  judged: Judged,
  { document, at }: StoredVersion,
): Iterable<Pick<Violation, 'invariant' | 'what'>> {
  const { document: before, lastToken } = judged;
  if (document === null) {
    judged.document = null;
    yield* judgeVanished(before, at);
    return;
  }
  const fault = shapeFault(document);
  if (fault !== undefined) {
    yield { invariant: 'S1', what: `it is no lock document: ${fault}` };
    return;
  }
  judged.document = document;
  const step: Step = {
    ...{ before: versionOf(before), after: versionOf(document), wake: String(document['wake']) },
    ...{ overBeforeMs: at.getTime(), earliestMs: at.getTime(), lastToken },
    purgeAtMs: { before: purgeAtMs(before), after: purgeAtMs(document) },
  };
  yield* wrongIn(step);
  const tokens = step.after.leases.map(lastTokenOf);
  judged.lastToken = Math.max(lastToken, step.after.fence, ...tokens);
}

/** Reports each live lease of a document that was deleted: a purge must not delete a document with a live lease. */
function* judgeVanished(
  before: StoredDocument | null,
  at: Date,
): Iterable<Pick<Violation, 'invariant' | 'what'>> {
  for (const { id, expiresAt } of versionOf(before).leases) {
    if (expiresAt > at) yield { invariant: 'S5', what: `the document vanishes with the lease ${id} in it` };
  }
}

const purgeAtMs = (document: StoredDocument | null): number => Number(document?.['purgeAt'] ?? 0);
