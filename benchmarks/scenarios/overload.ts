// What 5,000 holds and 500 waiters cost somebody who has nothing to do with locks and writes to the same server.
import type { Load, OverloadDuties } from '../processes/overload-process.js';
import { RemoteProcess } from '../remote-process.js';
import { defineScenario } from '../scenario.js';
import { percentile } from '../statistics.js';
import { sleep } from '../worker-process.js';

/**
 * Longer than the period of the extensions, so that all of them are in it; and than `wakeIdleMs`, after which standbys
 * listen no more, because the queue does not move.
 */
const BLOCK_MS = 12_000;

/** Writes come one after the other, with a pause: whoever has work to do besides. */
const PAUSE_MS = 5;

export const overload = defineScenario({
  name: 'overload',
  about: 'unrelated writes while a process holds and waits a lot, against the same writes while it does not',
  parts: [],
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks with the load, each after one without', usual: 1, thorough: 3 },
    holds: { meaning: 'locks that are held, in hundreds', usual: 5_000 },
    waiters: { meaning: 'waiters for one lock', usual: 500 },
    leaseMs: { meaning: 'lease of all of them', usual: 30_000 },
  },
  async run({ settings: { blocks, holds, waiters, leaseMs }, report, open }) {
    await using bench = await open();
    const others = (await bench.client().connect()).db(bench.dbName).collection('others');
    const file = new URL('../processes/overload-process.ts', import.meta.url);
    await using burden = new RemoteProcess<OverloadDuties>(file);
    const writeFor = async (ms: number): Promise<readonly number[]> => {
      const tookMs: number[] = [];
      for (const endMs = performance.now() + ms; performance.now() < endMs;) {
        const startedMs = performance.now();
        await others.insertOne({ at: new Date() }, { writeConcern: { w: 'majority' } });
        tookMs.push(performance.now() - startedMs);
        await sleep(PAUSE_MS);
      }
      return tookMs;
    };

    const load: Load = { leaseMs, holds, waiters, waitingProviders: 5 };
    const [quiet, listening, loaded]: [number[], number[], number[]] = [[], [], []];
    let [lost, leastLeftMs] = [0, Infinity];
    // The first connections and the first documents.
    await writeFor(2_000);
    for (let block = 0; block < blocks; block += 1) {
      quiet.push(...(await writeFor(BLOCK_MS)));
      await burden.ask('takeUp', bench.uri, bench.dbName, load);
      listening.push(...(await writeFor(BLOCK_MS)));
      loaded.push(...(await writeFor(BLOCK_MS)));
      const fared = await burden.ask('layDown');
      lost += fared.lost;
      leastLeftMs = Math.min(leastLeftMs, fared.leastLeftMs);
    }

    report.timing('a write of somebody else, without the load', quiet);
    report.timing('with the load, in its first seconds', listening);
    report.timing('with the load', loaded);
    const ratioAt = (share: number, of = loaded): number => percentile(of, share) / percentile(quiet, share);
    report.note('p50 with the load / without', ratioAt(0.5));
    report.note('p99 in its first seconds, while all standbys listen / without', ratioAt(0.99, listening));
    report.note('least left of any lease, ms', Math.round(leastLeftMs));
    report.gate({ name: 'write p99 with the load / without', measured: ratioAt(0.99), must: '≤', bound: 2 });
    report.gate({ name: 'holds lost under the load', measured: lost, must: '=', bound: 0 });
    // Two thirds of a lease are left when its extension is due; one third when the next one is, and this one came late.
    report.gate({
      name: 'least left / lease under the load',
      measured: leastLeftMs / leaseMs,
      must: '≥',
      bound: 1 / 3,
    });
  },
});
