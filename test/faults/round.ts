import { mkdtempSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MongoError } from 'mongodb';
import type { Db, MongoClient, Timestamp } from 'mongodb';

import type { LockProviderOptions } from '../../src/index.js';
import { eventually } from '../../lab/patience.js';
import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import { findFakeTime, setFakeClock } from '../../lab/cluster/fake-time.js';
import type { Counters } from '../judge/leak-checker.js';
import { oplogEnd } from '../judge/oplog-replay.js';
import type { History, RunLine } from './history.js';
import { judge } from './judgement.js';
import type { Judgement } from './judgement.js';
import type { Fault, FaultWorld } from './nemesis/fault-world.js';
import { letHappen } from './nemesis/nemesis.js';
import type { LeftOut } from './nemesis/nemesis.js';
import { killedCursors, undoStoreFaults } from './nemesis/store-faults.js';
import { randomFrom } from '../../lab/random.js';
import type { Random } from '../../lab/random.js';
import { connected, documentsAtRest, ServerCounters } from './remains.js';
import { StoreProbe } from './store-probe.js';
import type { Violation } from './verdict.js';
import { Crew } from './workload/crew.js';
import { FileJournal } from './workload/journal.js';
import type { Journal } from './workload/journal.js';

/** The folder of the journals of a round, during the round and after it has failed. */
const JOURNALS = fileURLToPath(new URL('../../.cache/failures/faults/', import.meta.url));

export const COLLECTION = 'distributed.locks';

/** How long a worker may take from its last order to its end: the leases of killed workers, and all waiters. */
const END_BOUND_MS = 60_000;

const HEAL_BOUND_MS = 90_000;

const THINK_MS = 30;
const IDLE_MS = 60;

const [ACTORS, BURSTS] = [5, 1];

export interface RoundPlan {
  readonly seed: number;
  /** The command that runs this round again, if there is one. */
  readonly again?: string | undefined;
  readonly cluster: FaultCluster;
  /** The worker, built. */
  readonly program: string;
  readonly storeFaults: readonly Fault[];
  readonly processFaults: readonly Fault[];
  /** The leases of the workers. The steady worker also has a longer one. */
  readonly leaseMs: number;
  /** Whether no fault can excuse a lost hold, or a grant that is heard of late. */
  readonly isStrict: boolean;
  /** How long an actor may pause between reading a set and writing it back. Default: 30. */
  readonly thinkMs?: number | undefined;
  /** How long an actor may be idle between two requests. Default: 60. */
  readonly idleMs?: number | undefined;
  /** The name of the only lock that actors want. Default: they want all locks. */
  readonly onlyLock?: string | undefined;
  /** Whether each worker stands for election. Default: true. */
  readonly hasCandidate?: boolean | undefined;
  /** Whether to keep the journals of a round without violations. */
  readonly keepsJournals?: boolean | undefined;
  /** How long faults happen. */
  readonly durationMs: number;
  /** The bounds for the length of a fault that does not end by itself. */
  readonly faultMs: { readonly min: number; readonly max: number };
  /** The actors of each worker. Default: 5, so that a grant is heard of by another's answer as often as by events. */
  readonly actors?: number | undefined;
  /** How many others of each worker ask for many new names in one turn. Default: 1. */
  readonly bursts?: number | undefined;
  /** More options of the workers' providers. */
  readonly options?: Partial<LockProviderOptions> | undefined;
  /** How long a worker may take from its last order to its end. Default: 60 s. */
  readonly endBoundMs?: number | undefined;
}

export interface RoundResult extends Judgement {
  readonly seed: number;
  readonly again: string | undefined;
  readonly folder: string;
  readonly history: History;
  /** The faults that were wanted and are not possible here. */
  readonly missing: readonly LeftOut[];
}

/** A process that is cut off cannot close its cursors, which the server keeps for half an hour with their session. */
const countsCursors = ({ isStrict, storeFaults }: RoundPlan): boolean =>
  isStrict && storeFaults.every((fault) => fault === killedCursors);

/** Runs a crew of workers on one database, with faults for a while, heals everything, and judges the result. */
export async function runRound(plan: RoundPlan): Promise<RoundResult> {
  await mkdir(JOURNALS, { recursive: true });
  const folder = mkdtempSync(join(JOURNALS, `${plan.seed}-`));
  const round = new Round(plan, folder);
  try {
    const result = await round.run();
    if (result.violations.length === 0 && plan.keepsJournals !== true) {
      await rm(folder, { recursive: true });
    } else {
      writeFileSync(join(folder, 'violations.json'), JSON.stringify(result.violations, null, 2));
      await plan.cluster.saveLogs(folder);
    }
    return result;
  } catch (error) {
    await plan.cluster.saveLogs(folder);
    throw new Error(`${String(error)} (${whereAndHow({ folder, again: plan.again })})`, { cause: error });
  }
}

/** For an error message: where the journals and the logs of the servers are, and how to repeat the round. */
export const whereAndHow = ({ folder, again }: Pick<RoundResult, 'folder' | 'again'>): string =>
  `journals and server logs: ${folder}${again === undefined ? '' : `; again: ${again}`}`;

class Round {
  readonly #plan: RoundPlan;
  readonly #folder: string;
  readonly #random: Random;
  readonly #database: string;
  readonly #crew: Crew;
  readonly #journal: Journal<RunLine>;
  readonly #counters: ServerCounters;
  readonly #violations: Violation[] = [];

  constructor(plan: RoundPlan, folder: string) {
    this.#plan = plan;
    this.#folder = folder;
    this.#random = randomFrom(plan.seed);
    this.#database = `faults-${plan.seed}-${process.hrtime.bigint().toString(36)}`;
    this.#journal = new FileJournal<RunLine>(this.#runJournal);
    const { program, cluster, onlyLock, hasCandidate = true } = plan;
    this.#counters = new ServerCounters(cluster, countsCursors(plan));
    this.#crew = new Crew(
      {
        program,
        folder,
        database: this.#database,
        uri: cluster.uri,
        thinkMs: plan.thinkMs ?? THINK_MS,
        idleMs: plan.idleMs ?? IDLE_MS,
        onlyLock,
        hasCandidate,
      },
      this.#journal,
    );
  }

  get #runJournal(): string {
    return join(this.#folder, 'run.jsonl');
  }

  get #options(): LockProviderOptions & { readonly leaseMs: number } {
    const { leaseMs, options } = this.#plan;
    // Within a round, standbys close their streams and open them again.
    return { storeTimeoutMs: 1_500, wakeIdleMs: 1_000, ...options, leaseMs };
  }

  async run(): Promise<RoundResult> {
    const { cluster, seed } = this.#plan;
    await cluster.heal(HEAL_BOUND_MS);
    const before = await this.#counters.read();
    const from = await this.#onPrimary(oplogEnd);
    try {
      const world = await this.#act(before);
      const history = await this.#history();
      const judgement = await this.#judge(history, from, before);
      this.#expectFaults(world, judgement.faults);
      return {
        seed,
        again: this.#plan.again,
        folder: this.#folder,
        history,
        missing: this.#missing(world),
        ...judgement,
      };
    } finally {
      await this.#crew.dismiss();
    }
  }

  /** Everything that happens in the round: the workers begin, faults befall them, and the workers end. */
  async #act(before: readonly Counters[]): Promise<FaultWorld> {
    const probe = this.#plan.isStrict ? this.#probe() : undefined;
    try {
      const world = await this.#populate();
      await this.#endure(world);
      if (countsCursors(this.#plan)) {
        await this.#expect('R1', 'no stream is forgotten', () =>
          this.#counters.cursorsAreFew(before, this.#crew.workers.length),
        );
      }
      await this.#comeToRest();
      return world;
    } finally {
      await probe?.end();
    }
  }

  #probe(): StoreProbe {
    return new StoreProbe(this.#plan.cluster.uri, `${this.#database}-probes`, this.#journal);
  }

  async #populate(): Promise<FaultWorld> {
    const { cluster, faultMs } = this.#plan;
    const random = this.#random;
    const fakeTime = await findFakeTime();
    const clockFile = join(this.#folder, 'worker-clock');
    if (fakeTime !== undefined) setFakeClock(clockFile, '+0');
    const hire = async (
      more: Pick<LockProviderOptions, 'wakeups'> = {},
      env: NodeJS.ProcessEnv = {},
    ): Promise<void> => {
      const options = { ...this.#options, ...more };
      await this.#crew.hire(
        {
          seed: random.between(0, 0x7f_ff_ff_ff),
          actors: this.#plan.actors ?? ACTORS,
          bursts: this.#plan.bursts ?? BURSTS,
          isSteady: false,
          options,
        },
        env,
      );
    };
    const faked = fakeTime?.environment(clockFile) ?? {};
    await hire();
    await hire({}, faked);
    await hire({ wakeups: 'polling' });
    await this.#crew.hire({ seed: 0, actors: 1, bursts: 0, isSteady: true, options: this.#options });
    return {
      cluster,
      crew: this.#crew,
      random,
      journal: this.#journal,
      database: this.#database,
      collection: COLLECTION,
      leaseMs: this.#plan.leaseMs,
      lengthMs: () => random.between(faultMs.min, faultMs.max),
      hire: async () => hire(random.percent(30) ? { wakeups: 'polling' } : {}, faked),
      workerClock:
        fakeTime === undefined
          ? undefined
          : (offset) => {
              setFakeClock(clockFile, offset);
            },
    };
  }

  async #endure(world: FaultWorld): Promise<void> {
    const { storeFaults, processFaults, durationMs, cluster } = this.#plan;
    const endMs = performance.now() + durationMs;
    // Each lane has its own random numbers, so that its draws do not depend on the speed of the other lane.
    const lanes = [storeFaults, processFaults].map((faults) => ({
      faults: faults.filter((fault) => fault.missing?.(world) === undefined),
      random: randomFrom(this.#random.between(0, 0x7f_ff_ff_ff)),
    }));
    // Both lanes end, even if one fails, so that no fault is injected while the round ends.
    const ends = await Promise.allSettled(
      lanes.map(({ faults, random }) => letHappen(faults, { ...world, random }, endMs)),
    );
    const healing = cluster.heal(HEAL_BOUND_MS).then(() => undoStoreFaults(cluster));
    const [failed] = [...ends, ...(await Promise.allSettled([healing]))].flatMap((end) =>
      end.status === 'rejected' ? [end] : [],
    );
    if (failed !== undefined) throw failed.reason;
    this.#journal.write({ type: 'healed' });
  }

  /** A round without any of its faults proves nothing. */
  #expectFaults(world: FaultWorld, happened: Judgement['faults']): void {
    const { storeFaults, processFaults } = this.#plan;
    for (const [of, faults] of Object.entries({ store: storeFaults, processes: processFaults })) {
      const available = faults.filter((fault) => fault.missing?.(world) === undefined);
      if (available.length === 0 || available.some(({ number }) => happened.has(number))) continue;
      throw new Error(`no fault of the ${of} has happened, of ${available.length} that were to`);
    }
  }

  #missing(world: FaultWorld): readonly LeftOut[] {
    const { storeFaults, processFaults } = this.#plan;
    return [...storeFaults, ...processFaults].flatMap(({ number, missing }) => {
      const why = missing?.(world);
      return why === undefined ? [] : [{ number, why }];
    });
  }

  /** Lets the workers release everything and end by themselves. */
  async #comeToRest(): Promise<void> {
    const healedNs = process.hrtime.bigint();
    const { endBoundMs = END_BOUND_MS } = this.#plan;
    await this.#expect('L1', 'every worker is granted something after the end of the faults', async () => {
      await eventually(
        'a grant for every worker',
        (see) => {
          const lines = this.#crew.lines();
          const without = this.#crew.workers.filter(
            ({ isSteady, number }) =>
              !isSteady &&
              lines[number]?.some(({ type, atNs }) => type === 'granted' && BigInt(atNs) > healedNs) !== true,
          );
          return see(without.map(({ number }) => `worker ${number}: nothing`)).length === 0;
        },
        endBoundMs,
      );
    });
    this.#journal.write({ type: 'stopping' });
    const { workers } = this.#crew;
    for (const worker of workers) worker.order({ do: 'stop' });
    await Promise.all(
      workers.map((worker) =>
        this.#expect('L1', `worker ${worker.number} comes to an end`, () => worker.endsByItself(endBoundMs)),
      ),
    );
    // A worker that has not ended by now never ends, and the judges need a quiet store.
    await this.#crew.dismiss();
  }

  async #expect(invariant: 'L1' | 'R1', what: string, happens: () => Promise<void>): Promise<void> {
    try {
      await happens();
    } catch (error) {
      this.#violations.push({ invariant, checker: 'run', what: `${what}: ${String(error)}` });
    }
  }

  async #history(): Promise<History> {
    const text = await readFile(this.#runJournal, 'utf8');
    const run = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as RunLine]));
    return { workers: this.#crew.lines(), run };
  }

  async #judge(history: History, from: Timestamp, before: readonly Counters[]): Promise<Judgement> {
    const { isStrict, leaseMs } = this.#plan;
    return await connected(this.#plan.cluster.uri, async (client) => {
      const db = client.db(this.#database);
      const locks = db.collection(COLLECTION);
      // No worker was killed in a strict round, and a worker that ends by itself leaves no seat behind.
      const documents = isStrict ? await locks.find().toArray() : await documentsAtRest(locks);
      const remains = { documents, nowMs: Date.now(), before, after: await this.#counters.atRest(before) };
      const judgement = await this.#onPrimary((direct) =>
        judge({
          ...{ history, db, remains, isStrict, leaseMs, memory: this.#crew.memory },
          oplog: { client: direct, namespace: `${this.#database}.${COLLECTION}`, from },
        }),
      );
      await dropped(db);
      return { ...judgement, violations: [...this.#violations, ...judgement.violations] };
    });
  }

  /** Runs this with a client that is connected to the primary alone, to read its oplog. */
  async #onPrimary<T>(act: (client: MongoClient) => Promise<T>): Promise<T> {
    const primary = await this.#plan.cluster.untilPrimary();
    return await connected(primary.directUri, act);
  }
}

/** Repeats the drop, because the driver does not, and a busy machine may elect another primary at any time. */
async function dropped(db: Db): Promise<void> {
  await eventually('the database is dropped', () =>
    db.dropDatabase().catch((error: unknown) => {
      if (error instanceof MongoError) return false;
      throw error;
    }),
  );
}
