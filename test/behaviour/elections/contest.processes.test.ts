import { describe, expect, it } from 'vitest';
import { checkOplog } from '../../judge/oplog-checker.js';
import { oplogEnd } from '../../judge/oplog-replay.js';
import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { expectDisjoint } from '../processes/beliefs.js';
import { useProgram } from '../../support/built-program.js';
import { eventually, pause } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { LOG } from './candidate-lines.js';
import type { TermLog } from './candidate-lines.js';
import { CandidateWorld } from './candidate-world.js';
import type { CandidateProcess } from './candidate-world.js';
import { disorderIn, termsOf } from './terms.js';

const DURATION_MS = 30_000;

/**
 * The contest goes on until twice as many terms have worked, because a slow machine needs longer for them. The log must have
 * this many: a term that ends as it works writes nothing.
 */
const LEAST_TERMS = 20;
const LEASE_MS = 1_500;
const TRANSITION_MS = 400;
const PROCESSES = 5;

const program = useProgram(new URL('candidate-worker.ts', import.meta.url));

const CANDIDATES = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] as const;

/** Two candidates that share a process. When it is killed, another process takes over both. */
class Pair {
  readonly #world: CandidateWorld;
  readonly #random: Random;
  readonly #ids: readonly [string, string];
  #process: CandidateProcess;

  private constructor(
    world: CandidateWorld,
    random: Random,
    ids: readonly [string, string],
    process: CandidateProcess,
  ) {
    this.#world = world;
    this.#random = random;
    this.#ids = ids;
    this.#process = process;
  }

  static async start(world: CandidateWorld, random: Random, index: number): Promise<Pair> {
    const ids = [CANDIDATES[2 * index] ?? '', CANDIDATES[2 * index + 1] ?? ''] as const;
    const pair = new Pair(world, random, ids, await world.process(ids, random.between(0, 1e9)));
    pair.startAll();
    return pair;
  }

  startAll(): void {
    for (const candidate of this.#ids) this.#process.order({ do: 'start', candidate });
  }

  /** Which of the two lead, by what they believe themselves. */
  async leaders(): Promise<readonly string[]> {
    return (await this.#process.tell({ do: 'say who leads' }, 'leads')).candidates;
  }

  /** Closes everything: the process must then end by itself, and have had nothing to complain about. */
  async end(): Promise<void> {
    this.#process.order({ do: 'end' });
    await this.#process.endsByItself();
    expect(this.#process.stderr).toBe('');
  }

  async live(isOver: () => boolean): Promise<void> {
    const random = this.#random;
    while (!isOver()) {
      await pause(random.between(50, 400));
      // A death or a pause may cost all candidates a lease and a transition, so both are rare.
      if (random.percent(4)) await this.#die();
      else if (random.percent(5)) await this.#standStill();
      else if (random.percent(40)) await this.#stop();
      else if (random.percent(50)) this.#resign();
      else this.#handOver();
    }
    this.startAll();
  }

  /** Kills the process, and starts another one with the same candidates. */
  async #die(): Promise<void> {
    await this.#process.kill();
    await pause(this.#random.between(0, LEASE_MS));
    this.#process = await this.#world.process(this.#ids, this.#random.between(0, 1e9));
    this.startAll();
  }

  /** Pauses the process, about every second time for longer than a lease. */
  async #standStill(): Promise<void> {
    this.#process.signal('SIGSTOP');
    await pause(this.#random.between(LEASE_MS / 4, 2 * LEASE_MS));
    this.#process.signal('SIGCONT');
  }

  async #stop(): Promise<void> {
    const candidate = this.#random.pick(this.#ids);
    this.#process.order({ do: 'stop', candidate, drainMs: this.#random.pick([5_000, 5_000, 10]) });
    await pause(this.#random.between(0, 300));
    this.#process.order({ do: 'start', candidate });
  }

  #resign(): void {
    for (const candidate of this.#ids) this.#process.order({ do: 'resign', candidate });
  }

  #handOver(): void {
    const to = this.#random.pick(CANDIDATES);
    for (const candidate of this.#ids) this.#process.order({ do: 'hand over', candidate, to });
  }
}

describe('ten candidates in five processes, which stop, start, are killed and are paused', () => {
  it('never lead at the same time, their tokens rise from term to term, and in the end one of them leads', async () => {
    await using world = new CandidateWorld(program, {
      ...{ transitionMs: TRANSITION_MS, workMs: 40 },
      options: { leaseMs: LEASE_MS },
    });
    const random = randomFrom(drawSeed('contest of processes'));
    const oplog = { client: world.database.plain.client, namespace: world.namespace };
    const from = await oplogEnd(oplog.client);
    const pairs = await Promise.all(
      Array.from({ length: PROCESSES }, (_, index) =>
        Pair.start(world, randomFrom(random.between(0, 1e9)), index),
      ),
    );
    const endMs = performance.now() + DURATION_MS;
    const worked = (): number =>
      world.processes.flatMap(({ lines }) => lines).filter(({ says }) => says === 'worked').length;
    const isOver = (): boolean => performance.now() >= endMs && worked() >= 2 * LEAST_TERMS;
    await Promise.all(pairs.map((pair) => pair.live(isOver)));

    const last = await eventually('exactly one leader, which the spectator sees too', async () => {
      const leaders = (await Promise.all(pairs.map((pair) => pair.leaders()))).flat();
      const leader = await world.spectator.createLeaderElection(world.election).leader();
      return leaders.length === 1 && leader?.candidateId === leaders[0] ? leader : undefined;
    });
    await Promise.all(pairs.map((pair) => pair.end()));

    const { violations, grants } = await checkOplog({ ...oplog, from }, { toleranceMs: 50 });
    expect(violations).toEqual([]);
    const lines = world.processes.map((process) => process.lines);
    const terms = lines.flatMap(termsOf).sort((a, b) => a.token - b.token);
    console.log(`${terms.length} terms of ${grants.length} grants, ${lines.length} processes`);
    // A process that was paused when it was elected may find its term over already: such a term is empty.
    expectDisjoint(terms.filter(({ fromNs, untilNs }) => fromNs < untilNs));
    expect(lines.flatMap(disorderIn)).toEqual([]);
    expect(lines.flat().filter(({ says }) => says === 'complains')).toEqual([]);
    const granted = new Set(grants.map(({ token }) => token));
    expect(terms.filter(({ token }) => !granted.has(token))).toEqual([]);
    // While the processes end, another candidate may still be elected.
    expect(terms.find(({ token }) => token === last.token)?.candidate).toBe(last.candidateId);

    // The fenced log has the terms in the same order.
    const log = await world.database.plain.db.collection<TermLog>(LOG).findOne({ _id: world.election });
    const written = log?.terms ?? [];
    const tokens = written.map(({ token }) => token);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    for (const { token, candidate } of written) {
      expect(terms.find((term) => term.token === token)?.candidate).toBe(candidate);
    }
    expect(written.length).toBeGreaterThanOrEqual(LEAST_TERMS);
  });
});
