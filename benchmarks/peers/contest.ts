import { RemoteProcess } from '../remote-process.js';
import { monotonicMs, sleep } from '../worker-process.js';
import { grantsIn } from './contest-figures.js';
import type { Grants } from './contest-figures.js';
import type { ContestDuties, Span } from './contest-process.js';
import type { PeerName } from './line-up.js';
import type { PeerServer } from './servers/peer-server.js';

/** Before a block is measured, everybody wants the lock, and the code that gets it is warm. */
const WARM_UP_MS = 1_000;

export interface Pace {
  readonly holdMs: number;
  readonly thinkMs: number;
  readonly blockMs: number;
}

/** What the server did in a block. */
interface Cost {
  readonly commands: ReadonlyMap<string, number>;
  readonly processorMs: number | undefined;
}

/** What a block of contention through one library gave. */
export type Block = Grants & Cost;

/** The processes that want one lock, whichever library it is of. */
export class Contest implements AsyncDisposable {
  readonly #members: readonly RemoteProcess<ContestDuties>[];

  constructor(processes: number) {
    const file = new URL('contest-process.ts', import.meta.url);
    this.#members = Array.from({ length: processes }, () => new RemoteProcess<ContestDuties>(file));
  }

  /** Connections are made for each block and closed at its end, so that nobody is disturbed by those of another. */
  async block(peer: PeerName, server: PeerServer, { holdMs, thinkMs, blockMs }: Pace): Promise<Block> {
    await Promise.all(this.#members.map((member) => member.ask('connect', peer, server.place)));
    const fromMs = monotonicMs() + WARM_UP_MS;
    const span: Span = { fromMs, toMs: fromMs + blockMs };
    const [cost, ...holdsEach] = await Promise.all([
      costWithin(span, server),
      ...this.#members.map((member) => member.ask('contend', span, holdMs, thinkMs)),
    ]);
    return { ...grantsIn(holdsEach, span), ...cost };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()));
  }
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
