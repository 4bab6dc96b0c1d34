// What 5,000 holds and 500 waiters cost somebody who has nothing to do with locks and writes to the same server.
import { Command } from 'commander';
import { memberCount, wholeNumber } from './arguments.js';
import type { Load, Order, Report as Told } from './overload-messages.js';
import { Report } from './report.js';
import { percentile } from './statistics.js';
import { Workbench } from './workbench.js';
import { WorkerProcess, sleep } from './worker-process.js';

const { members, blocks, holds, waiters, leaseMs } = new Command('npm run bench:overload --')
  .description(
    'unrelated writes while a process holds and waits a lot, against the same writes while it does not',
  )
  .option('--members <n>', 'members of the replica set, 1 or 3', memberCount, 1)
  .option('--blocks <n>', 'blocks with the load, each between two without', wholeNumber, 3)
  .option('--holds <n>', 'locks that are held, in hundreds', wholeNumber, 5_000)
  .option('--waiters <n>', 'waiters for one lock', wholeNumber, 500)
  .option('--lease-ms <ms>', 'lease of all of them', wholeNumber, 30_000)
  .parse()
  .opts<{ members: 1 | 3; blocks: number; holds: number; waiters: number; leaseMs: number }>();

/** Longer than the period of the extensions, so that all of them are in it. */
const BLOCK_MS = 12_000;

/** Writes come one after the other, with a pause: whoever has work to do besides. */
const PAUSE_MS = 5;

await Workbench.with(members, async (bench) => {
  const report = new Report(`overload-${members}`, bench.server);
  const others = (await bench.client().connect()).db(bench.dbName).collection('others');
  const worker = new WorkerProcess<Order, Told>(new URL('overload-process.ts', import.meta.url));
  const tell = (order: Order): Promise<Told> =>
    new Promise((resolve, reject) => {
      worker.onReport((told) => {
        if (told.type === 'failed') reject(new Error(told.message));
        else resolve(told);
      });
      worker.order(order);
    });

  async function write(): Promise<readonly number[]> {
    const tookMs: number[] = [];
    for (const endMs = performance.now() + BLOCK_MS; performance.now() < endMs;) {
      const startedMs = performance.now();
      await others.insertOne({ at: new Date() }, { writeConcern: { w: 'majority' } });
      tookMs.push(performance.now() - startedMs);
      await sleep(PAUSE_MS);
    }
    return tookMs;
  }

  const load: Load = { leaseMs, holds, waiters, waitingProviders: 5 };
  const [quiet, loaded]: [number[], number[]] = [[], []];
  let [lost, leastLeftMs] = [0, Infinity];
  // The first connections and the first documents.
  await write();
  for (let block = 0; block < blocks; block += 1) {
    quiet.push(...(await write()));
    await tell({ type: 'load', uri: bench.uri, dbName: bench.dbName, load });
    loaded.push(...(await write()));
    const told = await tell({ type: 'unload' });
    if (told.type !== 'unloaded') throw new Error(`an answer to something else: ${told.type}`);
    lost += told.lost;
    leastLeftMs = Math.min(leastLeftMs, told.leastLeftMs);
  }
  await tell({ type: 'end' });
  await worker.ended;

  report.timing('a write of somebody else, without the load', quiet);
  report.timing('with the load', loaded);
  const ratioAt = (share: number): number => percentile(loaded, share) / percentile(quiet, share);
  report.note('p50 with the load / without', ratioAt(0.5).toFixed(2));
  report.note('least left of any lease, ms', Math.round(leastLeftMs));
  report.gate({ name: 'p99 with the load / without', measured: ratioAt(0.99), must: '≤', bound: 2 });
  report.gate({ name: 'holds lost', measured: lost, must: '=', bound: 0 });
  // Two thirds of a lease are left when its extension is due; one third when the next one is, and this one came late.
  report.gate({ name: 'least left / lease', measured: leastLeftMs / leaseMs, must: '≥', bound: 1 / 3 });
  await report.publish();
});
