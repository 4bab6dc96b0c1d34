// The cost of 5,000 holds and 500 waiters for unrelated writes on the same server.
import { timesFor } from '../measure.js';
import { RemoteProcess } from '../processes/remote-process.js';
import { defineScenario } from '../scenario.js';
import { percentile } from '../../lab/statistics.js';

/**
 * Longer than the period of the extensions, so that every block contains all of them. Also longer than `wakeIdleMs`,
 * after which the streams of the standbys close, because the queue does not move.
 */
const BLOCK_MS = 12_000;

/** The unrelated writes come one after the other, with this pause, like those of a program with other work to do. */
const PAUSE_MS = 5;

const WAITING_PROVIDERS = 5;

export const overload = defineScenario({
  name: 'overload',
  about: 'unrelated writes while a process holds and waits a lot, against the same writes while it does not',
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks with the load, each after one without', usual: 1, thorough: 3 },
    holds: { meaning: 'locks that are held', usual: 5_000 },
    waiters: { meaning: 'waiters for one of them', usual: 500 },
    leaseMs: { meaning: 'lease of all of them', usual: 30_000 },
  },
  async run({ settings: { blocks, holds, waiters, leaseMs }, report, bench }) {
    const others = (await bench.client().connect()).db(bench.place.dbName).collection('others');
    const writeFor = (ms: number): Promise<readonly number[]> =>
      timesFor(ms, () => others.insertOne({ at: new Date() }, { writeConcern: { w: 'majority' } }), PAUSE_MS);

    const [quiet, listening, loaded]: [number[], number[], number[]] = [[], [], []];
    let [lost, leastLeftMs] = [0, Infinity];
    // Not measured: the first connections and the first documents.
    await writeFor(2_000);
    for (let block = 0; block < blocks; block += 1) {
      quiet.push(...(await writeFor(BLOCK_MS)));
      await using burden = await RemoteProcess.start(bench.place);
      await burden.ask('prepare', leaseMs);
      await burden.ask('hold', holds);
      await burden.ask('crowd', waiters, WAITING_PROVIDERS, leaseMs);
      const idle = burden.ask('idle', 2 * BLOCK_MS);
      listening.push(...(await writeFor(BLOCK_MS)));
      loaded.push(...(await writeFor(BLOCK_MS)));
      const fared = await idle;
      lost += fared.lost;
      leastLeftMs = Math.min(leastLeftMs, fared.leastLeftMs);
      await burden.ask('giveBack');
    }

    report.timing('an unrelated write, without the load', quiet);
    report.timing('with the load, in its first seconds', listening);
    report.timing('with the load', loaded);
    const ratioAt = (share: number, of = loaded): number => percentile(of, share) / percentile(quiet, share);
    report.note('p50 with the load / without', ratioAt(0.5));
    report.note('p99 in its first seconds, while all standbys listen / without', ratioAt(0.99, listening));
    report.note('least left of any lease, ms', Math.round(leastLeftMs));
    report.gate('write p99 with the load / without', ratioAt(0.99), '≤', 2);
    report.gate('holds lost under the load', lost, '=', 0);
    // An extension is due when two thirds of a lease are left. If only one third is left, it came a whole period late.
    report.gate('least left / lease under the load', leastLeftMs / leaseMs, '≥', 1 / 3);
  },
});
