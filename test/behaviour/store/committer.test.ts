import { describe, expect, it } from 'vitest';
import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { fastPath } from '../../../src/protocol/pipeline/fast-path.js';
import type { FastPath } from '../../../src/protocol/pipeline/fast-path.js';
import type { Changes, NamedUpdate, Update } from '../../../src/store/lock-collection.js';
import type { Outcome } from '../../../src/store/outcome.js';
import { Committer } from '../../../src/store/updates/committer.js';
import type { Commit } from '../../../src/store/updates/commit.js';
import { ManualClock } from '../../support/manual-clock.js';

type Documents = readonly Readonly<Record<string, unknown>>[];

const BOUND_MS = 5_000;
const NOW = new Date(1_700_000_000_000);

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
      answer(documents: Documents): void;
      fail(): void;
    };

const unanswered = (): Outcome<never> => ({
  type: 'unknown',
  error: new Error('no answer'),
  maybeApplied: true,
});

/** A committer over a store whose answers come from the test. */
class CommitterHarness {
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
        readAfterUpdate: (names) =>
          this.#answered<Documents>((answer, fail) => ({ type: 'read', names, answer, fail })),
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
  const path = fastPath(mutexSeats, operation);
  if (path === undefined) throw new Error('no fast path');
  return path;
}

/** The document of a lock that this attempt holds. */
const heldBy = (name: string, id = `w${name}`): Readonly<Record<string, unknown>> => ({
  ...{ _id: name, now: NOW, fence: 9, wake: '' },
  holder: {
    ...{ id, process: 'p', token: 9, leaseMs: 30_000, acquiredAt: NOW },
    expiresAt: new Date(NOW.getTime() + 30_000),
  },
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How a statement ended: applied, not confirmed, or the type of the outcome. */
async function endOf({ outcome }: Commit): Promise<string> {
  const committed = await outcome;
  if (committed.type === 'unconfirmed') return committed.maybeApplied ? 'not confirmed' : 'not applied';
  return committed.type === 'done' ? 'applied' : committed.type;
}

const endsOf = (commits: readonly Commit[]): Promise<readonly string[]> => Promise.all(commits.map(endOf));

describe('the committer', () => {
  it('sends a lonely statement at once, as one command with its answer', async () => {
    const harness = new CommitterHarness();
    const commit = harness.enter('a');
    await settled();
    expect(harness.sent).toHaveLength(1);
    harness.get(0, 'alone').answer(heldBy('a'));
    expect(await endOf(commit)).toBe('applied');
  });

  it('sends the statements of one turn as one group, and reads what became of them', async () => {
    const harness = new CommitterHarness();
    const commits = ['a', 'b', 'c'].map((name) => harness.enter(name));
    await settled();
    harness.get(0, 'group').answer(3);
    await settled();
    expect(harness.get(1, 'read').names).toEqual(['a', 'b', 'c']);
    harness.get(1, 'read').answer(['a', 'b', 'c'].map((name) => heldBy(name)));
    expect(await endsOf(commits)).toEqual(['applied', 'applied', 'applied']);
  });

  it('does not send a statement alone that is to go in a group only', async () => {
    const harness = new CommitterHarness();
    expect(await endOf(harness.leave('a', true))).toBe('without group');
    const commits = [harness.leave('b', true), harness.leave('c', true)];
    await settled();
    expect(harness.sent).toHaveLength(1);
    harness.get(0, 'group').answer(2);
    expect(await endsOf(commits)).toEqual(['applied', 'applied']);
  });

  it('confirms leaves by the count alone, and reads nothing', async () => {
    const harness = new CommitterHarness();
    const commits = ['a', 'b'].map((name) => harness.leave(name));
    await settled();
    harness.get(0, 'group').answer(2);
    expect(await endsOf(commits)).toEqual(['applied', 'applied']);
    await settled();
    expect(harness.sent).toHaveLength(1);
  });

  it('believes no count that is short: it reads which leaves were applied', async () => {
    const harness = new CommitterHarness();
    const commits = ['a', 'b', 'c'].map((name) => harness.leave(name));
    await settled();
    harness.get(0, 'group').answer(2);
    await settled();
    harness.get(1, 'read').answer([
      { ...{ _id: 'a', now: NOW, wake: ' -wa:7' } },
      // A later update of another process has replaced the words of the leave.
      { ...{ _id: 'b', now: NOW, wake: ' other:wx:8' } },
      heldBy('c'),
    ]);
    expect(await endsOf(commits)).toEqual(['applied', 'not confirmed', 'not confirmed']);
  });

  it('denies no statement of a group in which an update failed, because the count is too low then', async () => {
    const harness = new CommitterHarness();
    const commits = [harness.leave('a'), harness.enter('b'), harness.leave('c')];
    await settled();
    harness.get(0, 'group').answer(1, false);
    await settled();
    harness.get(1, 'read').answer([heldBy('a', 'wanother'), heldBy('b'), heldBy('c')]);
    expect(await endsOf(commits)).toEqual(['not confirmed', 'applied', 'not confirmed']);
  });

  it('takes no error of the server as a proof that no statement of the group was applied', async () => {
    const harness = new CommitterHarness();
    const error = Object.assign(new Error('not primary'), { name: 'MongoServerError', code: 10_107 });
    const first = ['a', 'b'].map((name) => harness.enter(name));
    await settled();
    harness.get(0, 'group').fail({ type: 'unknown', error, maybeApplied: false });
    for (const { outcome } of first) expect(await outcome).toMatchObject({ maybeApplied: true });
    const second = ['c', 'd'].map((name) => harness.enter(name));
    await settled();
    harness.get(1, 'group').fail({ type: 'unknown', error: new Error('no server'), maybeApplied: false });
    for (const { outcome } of second) expect(await outcome).toMatchObject({ maybeApplied: false });
  });

  it('denies a statement if the count has no room for it', async () => {
    const harness = new CommitterHarness();
    const commits = [harness.leave('a'), harness.enter('b'), harness.leave('c')];
    await settled();
    harness.get(0, 'group').answer(2);
    await settled();
    harness
      .get(1, 'read')
      .answer([
        { ...{ _id: 'a', now: NOW, wake: ' -wa:7' } },
        heldBy('b'),
        { ...{ _id: 'c', now: NOW, wake: '' } },
      ]);
    expect(await endsOf(commits)).toEqual(['applied', 'applied', 'not applied']);
  });

  it('confirms no request by the lease of another attempt, by a lease that is over, or without a document', async () => {
    const harness = new CommitterHarness();
    const commits = ['a', 'b', 'c', 'd'].map((name) => harness.enter(name));
    await settled();
    // The count is no proof of a request: the read decides.
    harness.get(0, 'group').answer(4);
    await settled();
    const over = { ...heldBy('c'), now: new Date(NOW.getTime() + 30_000) };
    harness.get(1, 'read').answer([heldBy('b', 'wanother'), heldBy('a'), over]);
    expect(await endsOf(commits)).toEqual(['applied', 'not confirmed', 'not confirmed', 'not confirmed']);
  });

  it('gives each statement an unknown outcome if the update or the read has no answer', async () => {
    const harness = new CommitterHarness();
    const first = ['a', 'b'].map((name) => harness.enter(name));
    await settled();
    harness.get(0, 'group').fail();
    expect(await endsOf(first)).toEqual(['unknown', 'unknown']);
    const second = [harness.enter('c'), harness.enter('d'), harness.leave('e')];
    await settled();
    harness.get(1, 'group').answer(3);
    await settled();
    harness.get(2, 'read').fail();
    expect(await endsOf(second)).toEqual(['unknown', 'unknown', 'applied']);
    expect(await first[0]?.outcome).toMatchObject({ maybeApplied: true });
    expect(await second[0]?.outcome).toMatchObject({ maybeApplied: true });
  });

  it('confirms nothing of a group that the server refuses, and passes on a refusal by the driver', async () => {
    const harness = new CommitterHarness();
    const first = ['a', 'b'].map((name) => harness.enter(name));
    await settled();
    harness.get(0, 'group').fail({ type: 'refused', error: new Error('not authorized'), byServer: true });
    expect(await endsOf(first)).toEqual(['not confirmed', 'not confirmed']);
    const second = ['c', 'd'].map((name) => harness.enter(name));
    await settled();
    harness.get(1, 'group').fail({ type: 'refused', error: new Error('closed'), byServer: false });
    expect(await endsOf(second)).toEqual(['refused', 'refused']);
  });

  it('gives a group a second, or 20 times as long as groups take, but at most the time bound of a call', async () => {
    const harness = new CommitterHarness();
    for (const [index, tookMs] of [100, 100, 10, 5_000].entries()) {
      harness.leave('a');
      harness.leave('b');
      await settled();
      harness.clock.moveWithoutTimers(tookMs);
      harness.get(index, 'group').answer(2);
      await settled();
    }
    harness.leave('a');
    harness.leave('b');
    await settled();
    expect(harness.bounds).toEqual([BOUND_MS, 2_000, 2_000, 1_775, BOUND_MS]);
  });

  it('has two groups in flight, and sends what arrives meanwhile together, leaves first', async () => {
    const harness = new CommitterHarness();
    const commits = [harness.enter('a')];
    await settled();
    commits.push(harness.enter('b'));
    await settled();
    commits.push(...['c', 'd'].map((name) => harness.enter(name)), harness.leave('e'));
    await settled();
    expect(harness.sent).toHaveLength(2);
    harness.get(0, 'alone').answer(heldBy('a'));
    await settled();
    const group = harness.get(2, 'group');
    expect(group.names).toEqual(['e', 'c', 'd']);
    harness.get(1, 'alone').answer(heldBy('b'));
    group.answer(3);
    await settled();
    harness.get(3, 'read').answer(['c', 'd'].map((name) => heldBy(name)));
    expect(await endsOf(commits)).toEqual(Array(5).fill('applied'));
  });

  it('puts at most 64 statements into a group, and makes an update only when it is sent', async () => {
    const harness = new CommitterHarness();
    const made: string[] = [];
    const names = Array.from({ length: 150 }, (_, index) => `n${String(index)}`);
    const commits = names.map((name) => harness.enter(name, () => made.push(name)));
    await settled();
    expect(harness.sent.map((sent) => 'names' in sent && sent.names.length)).toEqual([64, 64]);
    expect(made).toEqual(names.slice(0, 128));
    const leaving = harness.leave('urgent');
    for (const index of [0, 1]) harness.get(index, 'group').fail();
    await settled();
    const last = harness.get(2, 'group');
    expect(last.names).toHaveLength(23);
    expect(last.names).toContain('urgent');
    last.fail();
    expect(new Set(await endsOf([...commits, leaving]))).toEqual(new Set(['unknown']));
  });

  it('sends further groups beside two slow ones, but never more than six', async () => {
    const harness = new CommitterHarness();
    for (let number = 0; number < 10; number += 1) {
      harness.enter(`n${String(number)}`);
      await settled();
    }
    expect(harness.sent).toHaveLength(2);
    harness.clock.advance(49);
    await settled();
    expect(harness.sent).toHaveLength(2);
    harness.clock.advance(1);
    await settled();
    // The eight that waited go together.
    expect(harness.get(2, 'group').names).toHaveLength(8);
    for (let number = 10; number < 20; number += 1) {
      harness.enter(`n${String(number)}`);
      await settled();
      harness.clock.advance(50);
      await settled();
    }
    expect(harness.sent).toHaveLength(6);
  });

  it('gives up a statement that waits for its turn for a whole time bound, which was not applied', async () => {
    const harness = new CommitterHarness();
    for (let number = 0; number < 6; number += 1) {
      harness.enter(`n${String(number)}`);
      await settled();
      harness.clock.advance(50);
      await settled();
    }
    expect(harness.sent).toHaveLength(6);
    const late = harness.enter('late');
    await settled();
    harness.clock.advance(BOUND_MS - 1);
    const later = harness.leave('later');
    await settled();
    harness.clock.advance(1);
    expect(await late.outcome).toMatchObject({ type: 'unknown', maybeApplied: false });
    expect(harness.sent).toHaveLength(6);
    harness.get(0, 'alone').fail();
    await settled();
    expect(harness.get(6, 'alone').name).toBe('later');
    harness.get(6, 'alone').answer({ now: NOW, wake: ' -wlater:3' });
    expect(await endOf(later)).toBe('applied');
    expect(harness.clock.alarms).toBe(0);
  });

  it('takes back a statement that waits, and no statement that was sent', async () => {
    const harness = new CommitterHarness();
    const first = harness.enter('a');
    await settled();
    harness.enter('b');
    await settled();
    const waiting = harness.enter('c');
    await settled();
    expect(first.withdraw()).toBe(false);
    expect(waiting.withdraw()).toBe(true);
    expect(await endOf(waiting)).toBe('withdrawn');
    harness.get(0, 'alone').answer(heldBy('a'));
    await settled();
    expect(harness.sent).toHaveLength(2);
  });
});
