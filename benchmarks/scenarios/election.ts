// The cost of handing a term over to a named candidate, against a hand-over of a mutex.
import { sleep } from '../measure.js';
import { contest } from '../processes/contest.js';
import { RemoteTeam } from '../processes/remote-process.js';
import { defineScenario } from '../scenario.js';

/** A term lasts as long as a turn of the mutex: 5 ms held, 3 ms of thought. */
const PACE = { processes: 2, holdMs: 5, thinkMs: 3, blockMs: 1_000 } as const;
const TERM_MS = PACE.holdMs + PACE.thinkMs;

/** Before it gives up the term, a leader reads whether the named candidate waits: two round trips instead of one. */
const BOUND = 2;

export const election = defineScenario({
  name: 'election',
  about: 'handOverTo in one process → onElected in another, against a hand-over of a mutex',
  sizes: [1, 3],
  settings: {
    rounds: {
      meaning: 'rounds; each is a block of the mutex and one of the election',
      usual: 6,
      thorough: 9,
    },
    handOvers: { meaning: 'hand-overs of a term in a block', usual: 60, thorough: 90 },
  },
  async run({ settings: { rounds, handOvers }, report, bench }) {
    await using team = await RemoteTeam.start(PACE.processes, bench.place);
    // These blocks are not measured: every process runs both once.
    await contest(team, PACE);
    await handTermsOver(team, 10);
    await report.compare({
      ...{ rounds, gate: 'hand-over of a term p50 / hand-over of a mutex p50', bound: BOUND },
      floor: {
        name: 'mutex: release → grant',
        measure: async () => (await contest(team, PACE)).handOversMs,
      },
      lock: { name: 'election: handOverTo → onElected', measure: () => handTermsOver(team, handOvers) },
    });
  },
});

const NAMES = ['here', 'there'] as const;

/** Two candidates hand their term to and fro; from just before each call to `onElected` in the other process, in ms. */
async function handTermsOver({ members }: RemoteTeam, times: number): Promise<readonly number[]> {
  const [here, there] = members;
  if (here === undefined || there === undefined) throw new Error('there are two candidates');
  await here.ask('stand', NAMES[0]);
  await there.ask('stand', NAMES[1]);
  await here.ask('elected');
  const tookMs: number[] = [];
  let [leader, next] = [here, there];
  for (let time = 0; time < times; time += 1) {
    // After this time the previous leader is back in the queue, and its stream is open.
    await sleep(TERM_MS);
    const elected = next.ask('elected');
    const startedMs = await leader.ask('handOver', next === here ? NAMES[0] : NAMES[1]);
    tookMs.push((await elected) - startedMs);
    [leader, next] = [next, leader];
  }
  // The waiting candidate leaves first, so that it is not elected when the leader leaves.
  await next.ask('close');
  await leader.ask('close');
  return tookMs;
}
