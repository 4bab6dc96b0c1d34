import { monotonicMs, sleep } from '../measure.js';
import {
  allHandOvers,
  grantsWithin,
  isWithin,
  msOf,
  spanAfter,
  waitsWithin,
} from '../processes/contended.js';
import type { Hold, Pace, Span } from '../processes/contended.js';
import { RemoteTeam } from '../remote-process.js';
import type { ContestDuties } from './contest-process.js';
import type { PeerName } from './line-up.js';
import type { PeerServer } from './peer.js';

/** By the end of the warm-up, every process wants the lock, and the code that gets it is compiled. */
const WARM_UP_MS = 1_000;

/** What the server did in a block. */
interface Cost {
  readonly commands: ReadonlyMap<string, number>;
  readonly processorMs: number | undefined;
}

/** The figures of a block of contention through one library. */
export interface Block extends Cost {
  /**
   * From a release call to the first grant to a process that was waiting then. A grant to a process that asked later
   * does not end a hand-over: else a lock that the releaser takes again and again would be judged by the few times when
   * it does not.
   */
  readonly handOvers: readonly { readonly tookMs: number; readonly isPassedOver: boolean }[];
  /** All waits, also those that ended after the block: no long wait is lost. */
  readonly waitsMs: readonly number[];
  readonly grantsEach: readonly number[];
  /** How often two processes held the lock at the same time, by the clock that they share. */
  readonly overlaps: number;
}

export type ContestTeam = RemoteTeam<ContestDuties>;

export const contestTeam = (processes: number): ContestTeam =>
  new RemoteTeam(processes, new URL('contest-process.ts', import.meta.url));

/** Connections are opened for each block and closed at its end, so that no library disturbs another one. */
export async function runBlock(
  team: ContestTeam,
  peer: PeerName,
  server: PeerServer,
  { blockMs, ...pace }: Pace & { readonly blockMs: number },
): Promise<Block> {
  await team.askAll('connect', [peer, server.place]);
  const span = spanAfter(WARM_UP_MS, blockMs);
  const [cost, holdsEach] = await Promise.all([
    costWithin(span, server),
    team.askAll('contend', [span, pace]),
  ]);
  return {
    ...cost,
    handOvers: allHandOvers(holdsEach)
      .filter(({ from }) => isWithin(span, from.releasedMs))
      .map((handOver) => ({ tookMs: msOf(handOver), isPassedOver: handOver.isPassedOver })),
    waitsMs: waitsWithin(holdsEach, { ...span, toMs: Infinity }),
    grantsEach: grantsWithin(holdsEach, span),
    overlaps: overlapsIn(holdsEach),
  };
}

function overlapsIn(holdsEach: readonly (readonly Hold[])[]): number {
  const inOrder = holdsEach.flat().sort((a, b) => a.grantedMs - b.grantedMs);
  const next = (index: number): number => inOrder[index + 1]?.grantedMs ?? Infinity;
  return inOrder.filter(({ releasedMs }, index) => next(index) < releasedMs).length;
}

async function costWithin({ fromMs, toMs }: Span, server: PeerServer): Promise<Cost> {
  await sleep(fromMs - monotonicMs());
  const before = await costSoFar(server);
  await sleep(toMs - monotonicMs());
  const after = await costSoFar(server);
  const commands = [...after.commands].map(
    ([name, count]) => [name, count - (before.commands.get(name) ?? 0)] as const,
  );
  const processorMs =
    after.processorMs === undefined ? undefined : after.processorMs - (before.processorMs ?? 0);
  return { commands: new Map(commands), processorMs };
}

async function costSoFar(server: PeerServer): Promise<Cost> {
  return { commands: await server.countCommands(), processorMs: server.processorMs() };
}
