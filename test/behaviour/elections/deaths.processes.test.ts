import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/protocol/lock-document.js';
import { expectDisjoint } from '../processes/beliefs.js';
import { eventually, later, pause } from '../../../lab/patience.js';
import { useProgram } from '../../support/built-program.js';
import { CandidateWorld } from './candidate-world.js';
import { termsOf } from './terms.js';
import { untilWaiting } from '../../support/waiters.js';

const LEASE_MS = 10_000;

/**
 * The election of the next leader may take this much longer than the lease and the transition. The library promises
 * less than a second; the rest is for a slow machine.
 */
const SLACK_MS = 8_000;

/** Expects that the next leader was elected soon after its predecessor was killed. */
function expectSoon({ atNs }: { readonly atNs: string }, killedNs: bigint, transitionMs: number): void {
  const tookMs = Number(BigInt(atNs) - killedNs) / 1e6;
  console.log(
    `lease ${LEASE_MS} ms, transition ${transitionMs} ms: the next leader after ${tookMs.toFixed(0)} ms`,
  );
  expect(tookMs).toBeLessThan(LEASE_MS + transitionMs + SLACK_MS);
}

const program = useProgram(new URL('candidate-worker.ts', import.meta.url));

const worldWith = (transitionMs: number): CandidateWorld =>
  new CandidateWorld(program, {
    ...{ transitionMs, workMs: 5 },
    // Extended so often that a busy machine does not lose the lease.
    options: { leaseMs: LEASE_MS, extendEveryMs: 200 },
  });

interface Succession {
  /** The last stored version of the lease. */
  readonly from: Lease;
  readonly to: Lease;
}

/** Reads the stored lease until another term has begun. Its times are those of the server's clock. */
async function succession(world: CandidateWorld): Promise<Succession> {
  let from = await eventually('a leader', () => world.storedLease());
  const to = await eventually('the next one', async () => {
    const lease = await world.storedLease();
    if (lease?.id !== from.id) return lease;
    from = lease;
    return undefined;
  });
  return { from, to };
}

const termsIn = (world: CandidateWorld) => world.processes.flatMap(({ lines }) => termsOf(lines));

describe('a leader', () => {
  it.each([
    ['its lease', 0],
    ['its lease and the transition', 1_500],
  ])('is replaced after a kill once %s expired, and never before', async (_, transitionMs) => {
    await using world = worldWith(transitionMs);
    const leader = await world.standing('a');
    await leader.heard('elected');
    const next = await world.standing('b');
    await untilWaiting(world.spectator, world.election);
    await leader.heard('promised', 2);

    const following = later(succession(world));
    const killedNs = process.hrtime.bigint();
    await leader.kill();
    const { from, to } = await following;
    const elected = await next.heard('elected');
    expect([from.candidateId, to.candidateId]).toEqual(['a', 'b']);
    const lateMs = to.acquiredAt.getTime() - from.expiresAt.getTime();
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expectSoon(elected, killedNs, transitionMs);
    expectDisjoint(termsIn(world));
  });

  it('is replaced after a kill by the same candidate during the transition, ahead of the queue', async () => {
    // As long as the new process may take to start on a slow machine. The heir does not wait for its end.
    const transitionMs = 30_000;
    await using world = worldWith(transitionMs);
    const leader = await world.standing('a');
    await leader.heard('elected');
    const other = await world.standing('b');
    await untilWaiting(world.spectator, world.election);
    await leader.heard('promised', 2);

    const following = later(succession(world));
    const killedNs = process.hrtime.bigint();
    await leader.kill();
    const heir = await world.standing('a');
    // The lease may be over when the new process has started.
    const leaseBeforeNs = process.hrtime.bigint() - BigInt(LEASE_MS) * 1_000_000n;
    const { from, to } = await following;
    const elected = await heir.heard('elected');
    expect([from.candidateId, to.candidateId]).toEqual(['a', 'a']);
    // Not before the end of the term, and before the end of the transition.
    const intoTransitionMs = to.acquiredAt.getTime() - (from.expiresAt.getTime() - transitionMs);
    expect(intoTransitionMs).toBeGreaterThanOrEqual(0);
    expect(intoTransitionMs).toBeLessThan(transitionMs);
    expectSoon(elected, killedNs > leaseBeforeNs ? killedNs : leaseBeforeNs, 0);
    expect(elected.token).toBeGreaterThan(from.token);
    expect(other.all('elected')).toEqual([]);
    heir.order({ do: 'stop', candidate: 'a', drainMs: 1_000 });
    await other.heard('elected');
    expectDisjoint(termsIn(world));
  });

  it('leads again during the transition, for a new term, after a pause longer than its lease', async () => {
    await using world = worldWith(12_000);
    const leader = await world.standing('a');
    const first = await leader.heard('elected');
    const other = await world.standing('b');
    await untilWaiting(world.spectator, world.election);
    leader.signal('SIGSTOP');
    const stored = await eventually('the transition', async () => {
      const lease = await world.storedLease();
      const { expiresAt = new Date(), transitionMs = 0 } = lease ?? {};
      return Date.now() > expiresAt.getTime() - transitionMs + 100 ? lease : undefined;
    });
    await pause(200);
    expect((await world.storedLease())?.id).toBe(stored.id);
    leader.signal('SIGCONT');
    const again = await leader.heard('elected', 2);
    expect(again.token).toBeGreaterThan(first.token);
    expect(await leader.heard('deposed')).toMatchObject({ token: first.token, why: 'lost' });
    expect(other.all('elected')).toEqual([]);
    expectDisjoint(termsIn(world));
  });
});
