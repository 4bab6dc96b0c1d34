import { describe, expect, it } from 'vitest';

import { settled, within } from '../../../lab/patience.js';
import { BOUND_MS, CommitterHarness, NOW, endOf, endsOf, heldBy } from './committer-harness.js';

/** As many groups in flight as there may be, each of one statement. */
async function fillUp(harness: CommitterHarness): Promise<void> {
  for (let number = 0; number < 6; number += 1) {
    harness.enter(`n${String(number)}`);
    await settled();
    harness.clock.advance(50);
    await settled();
  }
  expect(harness.sent).toHaveLength(6);
}

describe('the committer', () => {
  it('sends a lonely statement at once, as one command with its answer', async () => {
    const harness = new CommitterHarness();
    const commit = harness.enter('a');
    await settled();
    expect(harness.sent).toHaveLength(1);
    harness.get(0, 'alone').answer(heldBy('a'));
    expect(await endOf(commit)).toBe('applied');
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

  it('sends a leave in the very next group, ahead of more requests than a group takes', async () => {
    const harness = new CommitterHarness();
    const first = [harness.enter('a')];
    await settled();
    first.push(harness.enter('b'));
    await settled();
    const waiting = Array.from({ length: 200 }, (_, index) => harness.enter(`n${String(index)}`));
    const leaving = harness.leave('urgent');
    harness.get(0, 'alone').answer(heldBy('a'));
    await settled();
    const { names } = harness.get(2, 'group');
    expect(names).toHaveLength(64);
    expect(names).toContain('urgent');
    // The requests keep their order.
    expect(names.filter((name) => name !== 'urgent')).toEqual(
      Array.from({ length: 63 }, (_, index) => `n${String(index)}`),
    );
    harness.get(2, 'group').fail();
    expect(await endOf(leaving)).toBe('unknown');
    expect(await endsOf(waiting.slice(0, 63))).toEqual(Array(63).fill('unknown'));
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
    await fillUp(harness);
    const late = harness.enter('late');
    await settled();
    harness.clock.advance(BOUND_MS - 1);
    const later = harness.leave('later');
    await settled();
    harness.clock.advance(1);
    expect(await within(10_000, 'it is given up', late.outcome)).toMatchObject({
      type: 'unknown',
      maybeApplied: false,
    });
    expect(harness.sent).toHaveLength(6);
    harness.get(0, 'alone').fail();
    await settled();
    expect(harness.get(6, 'alone').name).toBe('later');
    harness.get(6, 'alone').answer({ now: NOW, wake: ' -wlater:3' });
    expect(await endOf(later)).toBe('applied');
    expect(harness.clock.alarms).toBe(0);
  });

  it('gives up an overdue leave, too, and never sends it', async () => {
    const harness = new CommitterHarness();
    await fillUp(harness);
    const late = harness.leave('late');
    await settled();
    harness.clock.advance(BOUND_MS);
    expect(await within(10_000, 'it is given up', late.outcome)).toMatchObject({
      type: 'unknown',
      maybeApplied: false,
    });
    harness.get(0, 'alone').fail();
    await settled();
    expect(harness.sent).toHaveLength(6);
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
