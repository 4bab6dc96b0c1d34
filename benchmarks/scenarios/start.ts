// How long a command of leasehold takes from its start to the first command that it sends to the server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { build } from 'tsup';

import { startFaultProxy } from '../../lab/cluster/fault-proxy.js';
import type { FaultProxy } from '../../lab/cluster/fault-proxy.js';
import { localEnvironment } from '../../lab/processes/local-environment.js';
import { cacheFolder, ROOT } from '../../lab/processes/program.js';
import { median } from '../../lab/statistics.js';
import { COMMAND_LINE } from '../../scripts/entries.js';
import { processorMsBetween, threadTimesOf } from '../processor-time.js';
import { defineScenario } from '../scenario.js';

const WARM_UP_ROUNDS = 3;

/** How many times the floor a command may take. */
const BOUND = 1.2;

/** What is asked of a usual machine. How fast a machine is shows the bare start of Node.js. */
const WANTED_MS = 300;

/** Commands by which the driver learns of the server. They do nothing for the program. */
const HANDSHAKES: readonly string[] = ['hello', 'isMaster', 'ismaster'];

/** The least that a program needs to send a command: it loads the driver as applications do, connects, and reads. */
const FLOOR = `
  const { MongoClient } = require('mongodb');
  const client = new MongoClient(process.argv[2]);
  client.connect()
    .then(() => client.db(process.argv[3]).collection('distributed.locks').findOne({ _id: 'x' }))
    .then(() => client.close());
`;

interface Start {
  /** From the start of the process to its first command, in ms. */
  readonly wallMs: number;
  /** The processor time of the process until then, in ms. */
  readonly processorMs: number;
}

const TIMES = [
  ['wallMs', 'time'],
  ['processorMs', 'processor time'],
] as const;

/** The starts of each program, by its name. */
type Starts = ReadonlyMap<string, readonly Start[]>;

export const start = defineScenario({
  name: 'start',
  about: 'leasehold from its start to the first command that it sends, against the driver alone',
  sizes: [1],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 4, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each round starts every program once', usual: 5, thorough: 7 },
  },
  async run({ settings: { blocks, rounds }, report, bench }) {
    await using folder = await cacheFolder('start');
    const floor = join(folder.path, 'floor.cjs');
    await writeFile(floor, FLOOR);
    const main = await buildPackage(folder.path);
    const { uri, dbName } = bench.place;
    const proxy = await startFaultProxy(Number(/:(\d+)/.exec(uri)?.[1]));
    try {
      const proxied = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
      const common = ['--uri', proxied, '--db', dbName];
      const programs: Readonly<Record<string, () => Promise<Start>>> = {
        'node -e, without the driver': bareNode,
        'the driver alone': () => firstCommand(proxy, [floor, proxied, dbName]),
        'leasehold show': () => firstCommand(proxy, [main, 'show', 'x', ...common]),
        'leasehold run': () => firstCommand(proxy, [main, 'run', 'x', '-n', ...common, '--', 'true']),
      };
      await startInTurn(programs, WARM_UP_ROUNDS);
      const measured: Starts[] = [];
      for (let block = 0; block < blocks; block += 1) measured.push(await startInTurn(programs, rounds));
      const of = (name: string, time: keyof Start): readonly (readonly number[])[] =>
        measured.map((block) => (block.get(name) ?? []).map((each) => each[time]));
      for (const [time, words] of TIMES)
        for (const name of Object.keys(programs)) report.timing(`${name}: ${words}`, of(name, time).flat());
      const bareMs = median(of('node -e, without the driver', 'processorMs').flat());
      for (const name of ['leasehold show', 'leasehold run']) {
        for (const [time, words] of TIMES) {
          const floors = of('the driver alone', time);
          const pairs = of(name, time).map((lockMs, block) => ({ lockMs, floorMs: floors[block] ?? [] }));
          report.ratio(`${words} to the first command, ${name} / the driver alone`, pairs, BOUND);
        }
        const ms = median(of(name, 'wallMs').flat());
        const processorMs = median(of(name, 'processorMs').flat());
        report.note(`${name} within ${WANTED_MS} ms`, ms <= WANTED_MS ? 'yes' : 'no');
        report.note(`processor time, ${name} / the bare start of Node.js`, processorMs / bareMs);
      }
    } finally {
      await proxy.close();
    }
  },
});

async function startInTurn(
  programs: Readonly<Record<string, () => Promise<Start>>>,
  rounds: number,
): Promise<Starts> {
  const starts = new Map<string, Start[]>(Object.keys(programs).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, call] of Object.entries(programs)) starts.get(name)?.push(await call());
  return starts;
}

/** Builds the command line as it is in the package. Returns the path of the program. */
async function buildPackage(folder: string): Promise<string> {
  const outDir = join(folder, 'dist', 'cli');
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await build({ ...COMMAND_LINE, config: false, dts: false, silent: true, outDir });
  return join(outDir, 'main.js');
}

/** Starts Node.js with these arguments, and measures until the proxy gets the first command. */
async function firstCommand(proxy: FaultProxy, args: readonly string[]): Promise<Start> {
  let found: Start | undefined;
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: localEnvironment() });
  const seeing = proxy.dropReplies(1, ({ command }) => {
    if (!HANDSHAKES.includes(command)) found ??= startOf(child.pid, startedMs);
    return false;
  });
  await once(child, 'exit');
  seeing.cancel();
  if (found === undefined) throw new Error(`no command was sent by ${args.join(' ')}`);
  return found;
}

async function bareNode(): Promise<Start> {
  const startedMs = performance.now();
  const source = 'process.stdout.write("up"); process.stdin.resume()';
  const child = spawn(process.execPath, ['-e', source], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: localEnvironment(),
  });
  await once(child.stdout, 'data');
  const found = startOf(child.pid, startedMs);
  child.stdin.end();
  await once(child, 'exit');
  return found;
}

const startOf = (pid: number | undefined, startedMs: number): Start => ({
  wallMs: performance.now() - startedMs,
  processorMs: processorMsBetween(new Map([['', 0]]), threadTimesOf(pid === undefined ? [] : [pid])),
});
