import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { LockProvider } from '../../../src/index.js';
import type { LeaderElection } from '../../../src/index.js';
import { useFaultCluster } from '../../support/fault-cluster.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import { eventually, pause, within } from '../../../lab/patience.js';
import { countStreams } from './streams.js';

const started = useFaultCluster();

/** A lease that outlives the election of a primary. */
const LEASE_MS = 60_000;

/** How often an observer polls while it has no stream. A term lasts longer, so that a poll can see each leader. */
const POLL_MS = 100;
const TERM_MS = 600;

const CANDIDATES = ['a', 'b', 'c'] as const;

/** Counts the streams on all members, because a failover moves them to another member. */
async function streamsOf(appName: string): Promise<number> {
  let streams = 0;
  for (const { directUri, isRunning } of started().members) {
    if (!isRunning) continue;
    const client = new MongoClient(directUri, { serverSelectionTimeoutMS: 30_000 });
    try {
      streams += await countStreams({ client }, appName);
    } finally {
      await client.close();
    }
  }
  return streams;
}

/** Lets each leader hand over to the next candidate after a while, until `end()` is called. */
class Succession {
  /** The tokens, in their order. */
  readonly tokens: number[] = [];
  readonly #elections: readonly LeaderElection[];
  #goesOn = true;

  constructor(providers: readonly LockProvider[], name: string) {
    this.#elections = providers.map((locks, index) => {
      const election = locks.createLeaderElection(name, { candidateId: CANDIDATES[index] });
      election.on('elected', ({ fencingToken }) => this.tokens.push(fencingToken));
      return election;
    });
  }

  end(): void {
    this.#goesOn = false;
  }

  async run(): Promise<void> {
    for (const election of this.#elections) await election.start();
    while (this.#goesOn) {
      const leader = await eventually('a leader', () => this.#elections.find(({ isLeader }) => isLeader));
      await pause(TERM_MS);
      const next = CANDIDATES[(CANDIDATES.indexOf(leader.candidateId as 'a') + 1) % CANDIDATES.length] ?? '';
      // Without a primary, the leader cannot find out whether that candidate waits.
      const isHanded = await leader.handOverTo(next).catch(() => false);
      if (!isHanded) await pause(50);
    }
    // The leader stops last, so that no candidate that is about to stop follows it.
    const inOrder = this.#elections.toSorted((a, b) => Number(a.isLeader) - Number(b.isLeader));
    for (const election of inOrder) await election.stop();
  }
}

/** Adds the tokens of the leaders that one observer is shown to `seen`. */
async function watch(election: LeaderElection, signal: AbortSignal, seen: number[]): Promise<void> {
  for await (const leader of election.observe({ signal })) if (leader !== null) seen.push(leader.token);
}

describe.each([
  ['is killed', async () => (await started().untilPrimary()).kill()],
  ['steps down', async () => (await started().untilPrimary()).stepDown()],
] as const)('when the primary %s, the observers of one provider', (_, end) => {
  it('see the leaders once each and in order through one stream, and leave no stream behind', async () => {
    await started().heal();
    await using database = new OwnDatabase(started().uri);
    const options = { leaseMs: LEASE_MS, createIndexes: false, pollMs: { max: POLL_MS } };
    const candidates = CANDIDATES.map(() => database.client().provider(options));
    const appName = randomName('observers');
    const observing = database.client({ appName });
    const locks = new LockProvider(observing.db, options);
    const name = 'e';
    const succession = new Succession(candidates, name);
    const ending = new AbortController();
    const seen: readonly number[][] = [[], [], [], []];
    const watching = seen.map((shown) => watch(locks.createLeaderElection(name), ending.signal, shown));
    const running = succession.run();

    const led = (count: number) => () => succession.tokens.length >= count;
    await eventually('three leaders', led(3));
    await eventually('one stream', async () => (await streamsOf(appName)) === 1);
    await end();
    const before = succession.tokens.length;
    await eventually('three more, after the election', led(before + 4), 60_000);
    await eventually('one stream on the new primary', async () => (await streamsOf(appName)) === 1);
    const hasSeenLast = (): boolean => seen.every((shown) => shown.at(-1) === succession.tokens.at(-1));
    await eventually('the present leader is seen', hasSeenLast, 60_000);
    const after = succession.tokens.length;
    await eventually('three more, with the new stream', led(after + 3));
    succession.end();
    await within(30_000, 'the end of the succession', running);
    await eventually('the last one is seen', hasSeenLast);
    // Without a stream, a leader of a short term may be left out: some drivers look for the new primary only after seconds.
    const { tokens } = succession;
    const during = tokens.slice(Math.max(0, before - 1), after);
    for (const shown of seen) {
      const missed = during.filter((token) => !shown.includes(token));
      expect(shown).toEqual(tokens.filter((token) => !missed.includes(token)));
    }

    ending.abort();
    await within(10_000, 'the ends', Promise.all(watching));
    await eventually('no stream', async () => (await streamsOf(appName)) === 0);
    await locks.close();
    await started().heal();
  }, 180_000);
});
