import { describe, expect, it } from 'vitest';
import { eventually, later, within } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';

describe.each([
  ['no transition', 0],
  ['a transition of one lease', 30_000],
  ['a transition of ten leases', 300_000],
])('an election with %s', (_, transitionMs) => {
  it('lets the next leader begin on the event alone, without a command', async () => {
    const [one, other] = await twoProviders({ leaseMs: 30_000 });
    const a = one.locks.createLeaderElection('e', { transitionMs });
    const b = other.locks.createLeaderElection('e', { transitionMs });
    await a.start();
    await b.start();
    // The fast path, the transition, and the look after the opening of the stream have been answered.
    await eventually('it listens', () => other.count('findAndModify') >= 3);
    const elected = later(b.untilElected());
    const before = other.count('findAndModify');
    await a.stop();
    const term = await within(10_000, 'b', elected);
    expect(other.count('findAndModify') - before).toBe(0);
    expect(term.remainingMs).toBeGreaterThan(20_000);
  });
});

it('a standby in an election with a long transition extends its place within each lease, and is elected without a command', async () => {
  const [one, other] = await twoProviders({ leaseMs: 15_000 });
  const terms = { transitionMs: 60_000 };
  const a = one.locks.createLeaderElection('e', terms);
  const b = other.locks.createLeaderElection('e', terms);
  await a.start();
  await b.start();
  await eventually('it looks', () => other.count('findAndModify') >= 6);
  const elected = later(b.untilElected());
  const before = other.count('findAndModify');
  await a.stop();
  await within(10_000, 'b', elected);
  expect(other.count('findAndModify') - before).toBe(0);
});
