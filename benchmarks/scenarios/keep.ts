// Kept seats: the saving of the process that keeps one, and the cost of a request from another process.
import { sleep } from '../measure.js';
import { contest } from '../processes/contest.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../../lab/statistics.js';

const PACE = { processes: 2, holdMs: 5, thinkMs: 3, blockMs: 1_000 } as const;

/** A keeper stays idle for this time before another process asks for its lock. */
const IDLE_MS = 20;

const LOCAL_BOUND_US = 20;

/** A hand-over is one write and its event; behind a keeper, the request and its event come first. */
const REMOTE_BOUND = 2;

export const keep = defineScenario({
  name: 'keep',
  about:
    'a kept mutex and a kept read: acquired again, and by another process behind one or 100 idle keepers',
  parts: ['local', 'remote', 'writer'],
  sizes: [1, 3],
  settings: {
    grants: { meaning: 'grants; 200 local holds of each are measured', usual: 25, thorough: 60 },
    rounds: { meaning: 'rounds; each has a block of hand-overs and one of requests', usual: 4, thorough: 9 },
    requests: { meaning: 'requests behind an idle keeper in a block', usual: 30, thorough: 60 },
    keepers: { meaning: 'providers that keep a read while another process writes, at most', usual: 100 },
    writes: { meaning: 'writes behind each number of keepers', usual: 5, thorough: 20 },
  },
  async run({ settings: { grants, rounds, requests, keepers, writes }, report, wants, bench }) {
    await using team = await RemoteTeam.start(2, bench.place);
    if (wants('local')) {
      await measureLocal(team, 'mutex', grants, report);
      await measureLocal(team, 'read', grants, report);
    }
    if (wants('remote')) {
      // These blocks are not measured: every process runs both once.
      await contest(team, PACE);
      await takeTurns(team, 10);
      await report.compare({
        ...{ rounds, gate: 'request → grant behind an idle keeper p50 / hand-over p50', bound: REMOTE_BOUND },
        floor: {
          name: 'release → grant, ordinary',
          measure: async () => (await contest(team, PACE)).handOversMs,
        },
        lock: { name: 'request → grant behind an idle keeper', measure: () => takeTurns(team, requests) },
      });
    }
    if (wants('writer')) await measureWrites(team, keepers, writes, report);
  },
});

async function measureLocal(
  { members: [keeper] }: RemoteTeam,
  what: 'mutex' | 'read',
  grants: number,
  report: Report,
): Promise<void> {
  // This grant is not measured: it compiles the code.
  await keeper?.ask('takeAgain', what);
  const [tookMs, commands]: [number[], string[]] = [[], []];
  for (let grant = 0; grant < grants; grant += 1) {
    const again = await keeper?.ask('takeAgain', what);
    tookMs.push(...(again?.tookMs ?? []));
    commands.push(...(again?.commands ?? []));
  }
  report.timing(`acquire + release of a kept ${what}`, tookMs);
  if (commands.length > 0) report.note(`commands, kept ${what}`, [...new Set(commands)].join(', '));
  report.gate(`acquire + release of a kept ${what}, p50 in µs`, 1_000 * median(tookMs), '≤', LOCAL_BOUND_US);
  report.gate(`commands while a kept ${what} is taken again`, commands.length, '=', 0);
}

/**
 * One process writes while the providers of the other one keep a read each, idle. Each keeper gives its read back by an
 * update of its own, and all these updates are of one document.
 */
async function measureWrites(
  { members: [reading, writing] }: RemoteTeam,
  most: number,
  writes: number,
  report: Report,
): Promise<void> {
  for (const keepers of [1, 10, 100].filter((count) => count <= most)) {
    const tookMs: number[] = [];
    for (let turn = 0; turn <= writes; turn += 1) {
      await reading?.ask('keepReads', keepers);
      await sleep(IDLE_MS);
      const ms = (await writing?.ask('writeOnce')) ?? NaN;
      // The first write is not measured: it opens the writer's connections.
      if (turn > 0) tookMs.push(ms);
    }
    report.timing(`write → grant behind ${keepers} idle keepers`, tookMs);
    await reading?.ask('letGo');
    await writing?.ask('letGo');
  }
}

/** The processes take turns at a lock whose seat the previous process keeps; the time of each request, in ms. */
async function takeTurns(team: RemoteTeam, requests: number): Promise<readonly number[]> {
  const { members } = team;
  const tookMs: number[] = [];
  for (let turn = 0; turn < members.length + requests; turn += 1) {
    const ms = (await members[turn % members.length]?.ask('takeKept')) ?? NaN;
    // The first turn of each process opens its stream, and finds no keeper.
    if (turn >= members.length) tookMs.push(ms);
    await sleep(IDLE_MS);
  }
  await team.askAll('letGo', []);
  return tookMs;
}
