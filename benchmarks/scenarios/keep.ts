// Kept seats: the saving of the process that keeps one, and the cost of a request from another process.
import { sleep } from '../measure.js';
import { contest } from '../processes/contest.js';
import type { Used } from '../processes/busy.js';
import { spanAfterWarmUp } from '../processes/holds.js';
import { RemoteTeam } from '../processes/remote-process.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median, percentile } from '../../lab/statistics.js';

const PACE = { processes: 2, holdMs: 5, thinkMs: 3, blockMs: 1_000 } as const;

/** A keeper stays idle for this time before another process asks for its lock. */
const IDLE_MS = 20;

const LOCAL_BOUND_US = 20;

/** A hand-over is one write and its event; behind a keeper, the request and its event come first. */
const REMOTE_BOUND = 2;

export const keep = defineScenario({
  name: 'keep',
  about:
    'a kept mutex and a kept read: acquired again, by another process behind idle keepers, and with passes',
  parts: ['local', 'remote', 'writer', 'passes'],
  sizes: [1, 3],
  settings: {
    grants: { meaning: 'grants; 200 local holds of each are measured', usual: 25, thorough: 60 },
    rounds: { meaning: 'rounds; each has a block of hand-overs and one of requests', usual: 4, thorough: 9 },
    requests: { meaning: 'requests behind an idle keeper in a block', usual: 30, thorough: 60 },
    keepers: { meaning: 'providers that keep a read while another process writes, at most', usual: 100 },
    writes: { meaning: 'writes behind each number of keepers', usual: 5, thorough: 20 },
    blocks: {
      meaning: 'blocks of a busy process beside a contender, for each number of passes',
      usual: 3,
      thorough: 7,
    },
    blockMs: { meaning: 'how long such a block is measured', usual: 2_000 },
  },
  async run({ settings, report, wants, bench }) {
    const { grants, rounds, requests, keepers, writes } = settings;
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
    if (wants('passes')) await measurePasses(team, settings, report);
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

/** What the callers of the busy process and the caller beside it do: short critical sections. */
const BUSY = { keepMs: 1_000, holdMs: 1 } as const;
const BESIDE = { keepMs: 0, passes: 0, callers: 1, holdMs: 1 } as const;

/** A process with one or ten callers, beside a process with one caller that wants the same lock all the time. */
async function measurePasses(
  team: RemoteTeam,
  { blocks, blockMs }: { readonly blocks: number; readonly blockMs: number },
  report: Report,
): Promise<void> {
  const cases = [1, 10].flatMap((callers) => [0, 20].map((passes) => ({ callers, passes })));
  const found = cases.map((): (readonly Used[])[] => []);
  const counted: (readonly Used[])[] = [];
  const runBlock = async (index: number, countsWrites: boolean): Promise<readonly Used[]> => {
    const { members } = team;
    const [span, name] = [spanAfterWarmUp(blockMs), `busy ${index}`];
    const uses = [{ ...BUSY, ...(cases[index] ?? BESIDE) }, BESIDE];
    return await Promise.all(
      uses.flatMap((use, member) => members[member]?.ask('useBusily', name, span, use, countsWrites) ?? []),
    );
  };
  for (let block = 0; block < blocks; block += 1) {
    for (const index of cases.keys()) found[index]?.push(await runBlock(index, false));
  }
  for (const index of cases.keys()) counted.push(await runBlock(index, true));
  const rows = cases.map(({ callers, passes }, index) => {
    const [all = [], [own, other] = []] = [found[index], counted[index]];
    const perSecond = (member: number): number =>
      median(all.map((used) => (1_000 * (used[member]?.grants ?? 0)) / blockMs));
    const waitsMs = all.flatMap((used) => used[1]?.waitsMs ?? []);
    const writes =
      ((own?.writes ?? NaN) + (other?.writes ?? NaN)) / ((own?.grants ?? 0) + (other?.grants ?? 0));
    return [callers, passes, perSecond(0), perSecond(1), writes, median(waitsMs), percentile(waitsMs, 0.99)];
  });
  report.table(
    'One process with callers that hold 1 ms, beside another with one such caller',
    [
      'callers',
      'passes',
      'its grants/s',
      "the other's grants/s",
      'updates per grant',
      "the other's wait, p50 ms",
      'p99',
    ],
    rows,
  );
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
