import { describe, expect, it } from 'vitest';
import type { LeaderElection } from '../../../src/index.js';
import { eventually, within } from '../../../lab/patience.js';
import { ownDatabase, testProvider } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

const PROVIDERS = 4;
const CANDIDATES = 12;
const HAND_OVERS = 30;

interface Elected {
  readonly candidateId: string;
  readonly token: number;
}

/** Twelve candidates, three in each provider, and one observer of each provider. */
class Assembly {
  readonly elections: readonly LeaderElection[];
  /** In the order of the `elected` events. */
  readonly elected: Elected[] = [];
  readonly observed: Elected[][] = [];
  readonly #end = new AbortController();
  readonly #watching: Promise<void>[];

  constructor(providers: readonly TestProvider[]) {
    this.elections = Array.from({ length: CANDIDATES }, (_, index) => {
      const locks = providers[index % providers.length]?.locks;
      if (locks === undefined) throw new Error('no provider');
      const candidateId = `candidate ${String(index)}`;
      const election = locks.createLeaderElection('e', { candidateId });
      election.on('elected', ({ fencingToken: token }) => this.elected.push({ candidateId, token }));
      return election;
    });
    this.#watching = providers.map(async ({ locks }, index) => {
      const seen: Elected[] = (this.observed[index] = []);
      for await (const leader of locks.createLeaderElection('e').observe({ signal: this.#end.signal })) {
        if (leader !== null) seen.push({ candidateId: leader.candidateId, token: leader.token });
      }
    });
  }

  get leader(): LeaderElection | undefined {
    return this.elections.find(({ isLeader }) => isLeader);
  }

  /** Waits until this many terms have begun, each observer has seen them, and the other candidates queue. */
  async untilElected(count: number, { locks }: TestProvider): Promise<void> {
    await eventually('each observer has seen the leader', () =>
      [this.elected, ...this.observed].every((seen) => seen.length >= count),
    );
    await eventually('the others wait', async () => {
      return (await locks.inspect('e'))?.waiters.length === CANDIDATES - 1;
    });
  }

  async end(): Promise<void> {
    this.#end.abort();
    await within(5_000, 'the end of the observation', Promise.all(this.#watching));
  }
}

describe('a hand-over', () => {
  it('elects the named candidate and no other in between, as every observer sees', async () => {
    const database = ownDatabase();
    const providers: TestProvider[] = [];
    for (let index = 0; index < PROVIDERS; index += 1) providers.push(await database.connected());
    const [first] = providers;
    if (first === undefined) throw new Error('no provider');
    const assembly = new Assembly(providers);
    for (const election of assembly.elections) await election.start();
    await assembly.untilElected(1, first);
    const plan = ['candidate 0'];
    for (let round = 0; round < HAND_OVERS; round += 1) {
      const { leader } = assembly;
      // Usually a candidate far behind in the queue, of any provider.
      const to = `candidate ${String((Number(leader?.candidateId.slice(10)) + 5 + (round % 3)) % CANDIDATES)}`;
      expect(await leader?.handOverTo(to)).toBe(true);
      plan.push(to);
      await assembly.untilElected(plan.length, first);
    }
    await assembly.end();
    expect(assembly.elected.map(({ candidateId }) => candidateId)).toEqual(plan);
    for (const seen of assembly.observed) expect(seen).toEqual(assembly.elected);
    const tokens = assembly.elected.map(({ token }) => token);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('keeps the order of the other waiters, and puts the former leader behind them', async () => {
    const one = await testProvider();
    const elections = ['a', 'b', 'c', 'd'].map((candidateId) =>
      one.locks.createLeaderElection('e', { candidateId }),
    );
    const order: string[] = [];
    for (const election of elections) {
      election.on('elected', () => order.push(election.candidateId));
      await election.start();
    }
    await untilWaiting(one.locks, 'e', 3);
    expect(await elections[0]?.handOverTo('c')).toBe(true);
    await untilWaiting(one.locks, 'e', 3);
    for (let waiting = 2; waiting >= 0; waiting -= 1) {
      const leader = await eventually('a leader', () => elections.find(({ isLeader }) => isLeader));
      await leader.stop();
      await untilWaiting(one.locks, 'e', waiting);
    }
    await eventually('the last one', () => order.length === 5);
    expect(order).toEqual(['a', 'c', 'b', 'd', 'a']);
  });
});
