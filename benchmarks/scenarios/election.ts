// What it costs to hand a term over to the candidate that is named, against a hand-over of a mutex.
import type { ElectionDuties } from '../processes/election-process.js';
import { Ring } from '../processes/ring.js';
import { describeRatio, ratioOf } from '../ratio.js';
import { RemoteProcess } from '../remote-process.js';
import { defineScenario } from '../scenario.js';
import type { Workbench } from '../workbench.js';
import { sleep } from '../worker-process.js';

/** As long as a turn of the mutex: 5 ms held, 3 ms of thought. */
const PACE = { processes: 2, holdMs: 5, thinkMs: 3 } as const;
const TERM_MS = PACE.holdMs + PACE.thinkMs;

/** Before it gives anything up, a leader reads whether the one that it names waits: two round trips instead of one. */
const BOUND = 2;

export const election = defineScenario({
  name: 'election',
  about: 'handOverTo in one process → onElected in another, against a hand-over of a mutex',
  parts: [],
  sizes: [1, 3],
  settings: {
    rounds: {
      meaning: 'rounds; each is a block of the mutex and one of the election',
      usual: 6,
      thorough: 9,
    },
    handOvers: { meaning: 'hand-overs of a term in a block', usual: 60, thorough: 90 },
  },
  async run({ settings: { rounds, handOvers }, report, open }) {
    await using bench = await open();
    await using ring = await Ring.start(PACE.processes, bench);
    await using candidates = await Candidates.start(bench);
    const mutex: (readonly number[])[] = [];
    const terms: (readonly number[])[] = [];
    // Not measured: every process has done both once.
    await ring.contend({ ...PACE, blockMs: 500 });
    await candidates.handOver(10);
    for (let round = 0; round < rounds; round += 1) {
      mutex.push((await ring.contend({ ...PACE, blockMs: 1_000 })).handOversMs);
      terms.push(await candidates.handOver(handOvers));
    }
    report.timing('mutex: release → grant', mutex.flat());
    report.timing('election: handOverTo → onElected', terms.flat());
    const ratio = ratioOf(terms.map((lockMs, round) => ({ lockMs, floorMs: mutex[round] ?? [] })));
    report.note('hand-over of a term / of a mutex', describeRatio(ratio));
    report.gate({
      name: 'hand-over of a term p50 / hand-over of a mutex p50',
      measured: ratio.ofMedians,
      must: '≤',
      bound: BOUND,
      isSteady: ratio.isSteady,
    });
  },
});

const NAMES = ['here', 'there'] as const;

/** Two candidates that hand their term to and fro. */
class Candidates implements AsyncDisposable {
  readonly #dbName: string;
  readonly #processes: readonly [RemoteProcess<ElectionDuties>, RemoteProcess<ElectionDuties>];

  private constructor(dbName: string) {
    const file = new URL('../processes/election-process.ts', import.meta.url);
    this.#dbName = dbName;
    this.#processes = [new RemoteProcess(file), new RemoteProcess(file)];
  }

  static async start({ uri, dbName }: Workbench): Promise<Candidates> {
    const candidates = new Candidates(dbName);
    await Promise.all(candidates.#processes.map((each) => each.ask('connect', uri)));
    return candidates;
  }

  /** From just before each call in one process to `onElected` in the other, in ms. */
  async handOver(times: number): Promise<readonly number[]> {
    for (const [index, each] of this.#processes.entries()) {
      await each.ask('stand', this.#dbName, NAMES[index] ?? '');
    }
    await this.#processes[0].ask('elected');
    const tookMs: number[] = [];
    for (let time = 0; time < times; time += 1) {
      // By then whoever led before waits again, and its stream is open.
      await sleep(TERM_MS);
      const [leader, next] = time % 2 === 0 ? this.#processes : [this.#processes[1], this.#processes[0]];
      const elected = next.ask('elected');
      const startedMs = await leader.ask('handOver', NAMES[(time + 1) % 2] ?? '');
      tookMs.push((await elected) - startedMs);
    }
    // Who waits first, so that nobody is elected by the end of the other.
    const [leader, other] = times % 2 === 0 ? this.#processes : [this.#processes[1], this.#processes[0]];
    await other.ask('leave');
    await leader.ask('leave');
    return tookMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#processes.map((each) => each.ask('disconnect')));
    await Promise.all(this.#processes.map((each) => each.end()));
  }
}
