import { expect } from 'vitest';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { fastPath } from '../../../src/protocol/pipeline/fast-path.js';
import type { FastPath } from '../../../src/protocol/pipeline/fast-path.js';
import type { Changes, NamedUpdate, Update } from '../../../src/store/lock-collection.js';
import type { Outcome } from '../../../src/store/outcome.js';
import { Committer } from '../../../src/store/updates/committer.js';
import type { Commit } from '../../../src/store/updates/commit.js';
import { ManualClock } from '../../support/manual-clock.js';

export type Documents = readonly Readonly<Record<string, unknown>>[];

export const BOUND_MS = 5_000;
export const NOW = new Date(1_700_000_000_000);

/** A command that the committer has sent, and its answer, which the test gives. */
type Sent =
  | { readonly type: 'alone'; readonly name: string; answer(value: object | null): void; fail(): void }
  | {
      readonly type: 'group';
      readonly names: readonly string[];
      answer(count: number, isExact?: boolean): void;
      fail(outcome?: Outcome<never>): void;
    }
  | {
      readonly type: 'read';
      readonly names: readonly string[];
      /** By when the answer must have come. */
      readonly endMs: number;
      answer(documents: Documents): void;
      fail(): void;
    };

const unanswered = (): Outcome<never> => ({
  type: 'unknown',
  error: new Error('no answer'),
  maybeApplied: true,
});

/** A committer over a store whose answers come from the test. */
export class CommitterHarness {
  readonly clock = new ManualClock();
  readonly sent: Sent[] = [];
  /** The time bounds of the groups, in ms. */
  readonly bounds: number[] = [];
  readonly committer: Committer;

  constructor() {
    this.committer = new Committer(
      {
        boundMs: BOUND_MS,
        isSharded: false,
        unanswered: () => new Error('no answer'),
        transition: (name, make) => {
          make();
          return this.#answered<Update | object | null>((done, fail) => ({
            type: 'alone',
            name,
            answer: done,
            fail,
          }));
        },
        updateEach: (make, boundMs) => {
          this.bounds.push(boundMs);
          const names = make().flatMap((update: NamedUpdate) => update.names);
          return this.#answered<Changes>((done, fail) => {
            const answer = (count: number, isExact = true): void => {
              done({ count, isExact });
            };
            return { type: 'group', names, answer, fail };
          });
        },
        updateMany: () => Promise.resolve(unanswered()),
        readAfterUpdate: (names, _, endMs) =>
          this.#answered<Documents>((answer, fail) => ({ type: 'read', names, endMs, answer, fail })),
      },
      this.clock,
    );
  }

  #answered<T>(
    sent: (answer: (value: T) => void, fail: (outcome?: Outcome<never>) => void) => Sent,
  ): Promise<Outcome<T>> {
    return new Promise((resolve) => {
      const sentAt = { ms: this.clock.nowMs(), wallAheadMs: 0 };
      const answer = (value: T): void => {
        resolve({ type: 'done', value, sentAt });
      };
      this.sent.push(
        sent(answer, (outcome = unanswered()) => {
          resolve(outcome);
        }),
      );
    });
  }

  enter(name: string, made: () => void = () => undefined): Commit {
    const make = (): FastPath => {
      made();
      return pathOf({ type: 'enqueue', request: { ...REQUEST, id: `w${name}` } });
    };
    return this.committer.commit(name, make, { isUrgent: false, onlyInGroup: false });
  }

  leave(name: string, onlyInGroup = false): Commit {
    const make = (): FastPath => pathOf({ type: 'leave', id: `w${name}` });
    return this.committer.commit(name, make, { isUrgent: true, onlyInGroup });
  }

  get<T extends Sent['type']>(index: number, type: T): Extract<Sent, { readonly type: T }> {
    const sent = this.sent[index];
    expect(sent?.type).toBe(type);
    return sent as Extract<Sent, { readonly type: T }>;
  }
}

const REQUEST = {
  ...{ process: 'p', leaseMs: 30_000, notAfter: new Date(), maxMembers: 7, retentionMs: 0 },
};

function pathOf(operation: Parameters<typeof fastPath>[1]): FastPath {
  const path = fastPath(mutexRules, operation);
  if (path === undefined) throw new Error('no fast path');
  return path;
}

/** The document of a lock that this attempt holds. */
export const heldBy = (name: string, id = `w${name}`): Readonly<Record<string, unknown>> => ({
  ...{ _id: name, now: NOW, fence: 9, wake: '' },
  holder: {
    ...{ id, process: 'p', token: 9, leaseMs: 30_000, acquiredAt: NOW },
    expiresAt: new Date(NOW.getTime() + 30_000),
  },
});

/** How a statement ended: applied, not confirmed, or the type of the outcome. */
export async function endOf({ outcome }: Commit): Promise<string> {
  const committed = await outcome;
  if (committed.type === 'unconfirmed') return committed.maybeApplied ? 'not confirmed' : 'not applied';
  return committed.type === 'done' ? 'applied' : committed.type;
}

export const endsOf = (commits: readonly Commit[]): Promise<readonly string[]> =>
  Promise.all(commits.map(endOf));
