import { expect } from 'vitest';

import type { LockHandle } from '../../../src/index.js';
import { eventually, nowMs, within } from '../../../lab/patience.js';
import type { TwoProviders } from './two-providers.js';

/** A request under this load waits only for those ahead of it, which takes about a second. */
const PROBE_MS = 60_000;
const PROBES = 8;
const RUNNERS = 4;

/** One request of the load, in the order of the calls. */
interface Call {
  hold?: LockHandle;
}

/**
 * Runners that keep the lock in use without a gap: each holds it until another of them holds it too, or for a short
 * time if that is impossible.
 */
class SteadyLoad {
  readonly calls: Call[] = [];
  readonly rounds: number[] = [];
  readonly #runners: Promise<void>[];
  #grants = 0;
  #isOver = false;

  constructor(requests: readonly (() => Promise<LockHandle>)[]) {
    this.#runners = requests.map((request, runner) => this.#run(request, runner));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#runners);
  }

  async #run(request: () => Promise<LockHandle>, runner: number): Promise<void> {
    this.rounds[runner] = 0;
    while (!this.#isOver) {
      const call: Call = {};
      this.calls.push(call);
      const hold = await request();
      call.hold = hold;
      this.#grants += 1;
      await this.#relieved(this.#grants);
      await hold.release();
      this.rounds[runner] += 1;
    }
  }

  async #relieved(grants: number): Promise<void> {
    const endMs = nowMs() + 30;
    await eventually('the next grant', () => this.#grants > grants || nowMs() > endMs);
  }
}

/** A request of the load, and the request that is probed under it. */
export interface Contest {
  readonly load: (locks: TwoProviders['here']) => Promise<LockHandle>;
  readonly probe: (locks: TwoProviders['here']) => Promise<LockHandle>;
}

/**
 * Probes again and again under a load that never ends. Every call of the load after the probe was queued is granted
 * after the probe (L3), so a probe waits only for those ahead of it. Each runner of the load goes on as well. If seats
 * are kept, a call may get the seat of an earlier one until its process has heard of the probe.
 */
export async function expectNobodyStarves(world: TwoProviders, { load, probe }: Contest): Promise<void> {
  const requests = Array.from({ length: RUNNERS }, (_, runner) => {
    const locks = runner % 2 === 0 ? world.here : world.there;
    return () => load(locks);
  });
  const running = new SteadyLoad(requests);
  const prober = world.provider();
  let later: number | undefined;
  prober.on('waiting', () => (later = running.calls.length));
  await eventually('the load runs', () => running.calls.length > RUNNERS);

  const probes: { readonly token: number; readonly later: number | undefined }[] = [];
  while (probes.length < PROBES) {
    later = undefined;
    const hold = await within(PROBE_MS, 'a turn under the load', probe(prober));
    probes.push({ token: hold.fencingToken, later });
    await hold.release();
  }
  await within(PROBE_MS, 'the end of the load', running.end());

  const waited = probes.filter((each) => each.later !== undefined);
  expect(waited.length).toBeGreaterThan(PROBES / 2);
  for (const { token, later: from } of waited) {
    // A seat that is not kept has one hold, and no later call has its id.
    const seatsBefore = new Set(running.calls.slice(0, from).map(({ hold }) => hold?.id));
    const granted = running.calls.slice(from).filter(({ hold }) => !seatsBefore.has(hold?.id));
    for (const { hold } of granted) expect(hold?.fencingToken).toBeGreaterThan(token);
  }
  for (const rounds of running.rounds) expect(rounds).toBeGreaterThan(1);
}
