import { describe, expect, it } from 'vitest';

import { settled } from '../../../lab/patience.js';
import { BOUND_MS, CommitterHarness, NOW, endsOf, heldBy } from './committer-harness.js';
import type { Documents } from './committer-harness.js';

describe('the answer to a group', () => {
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

  it('gives every statement of a group an outcome if its answer cannot be read', async () => {
    const harness = new CommitterHarness();
    const commits = [harness.enter('a'), harness.enter('b'), harness.leave('c')];
    await settled();
    harness.get(0, 'group').answer(2);
    await settled();
    harness.get(1, 'read').answer(null as unknown as Documents);
    expect(await endsOf(commits)).toEqual(['unknown', 'unknown', 'unknown']);
    for (const { outcome } of commits) expect(await outcome).toMatchObject({ maybeApplied: true });
  });

  it('never gives one group more than the time bound of a call for its update and its read together', async () => {
    const harness = new CommitterHarness();
    const startedMs = harness.clock.nowMs();
    const commits = [harness.enter('a'), harness.enter('b')];
    await settled();
    harness.clock.moveWithoutTimers(3_000);
    harness.get(0, 'group').answer(2);
    await settled();
    expect(harness.get(1, 'read').endMs).toBe(startedMs + BOUND_MS);
    harness.get(1, 'read').answer(['a', 'b'].map((name) => heldBy(name)));
    expect(await endsOf(commits)).toEqual(['applied', 'applied']);
  });
});
