import type { Db } from 'mongodb';

import * as present from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { surroundingsOf } from '../../../src/surroundings.js';
import type { MemoryReplicaSet } from '../../../src/testing/index.js';
import { randomFrom } from '../../../lab/random.js';
import type { WorkerLine } from '../../faults/history.js';
import { Actor } from '../../faults/workload/actor.js';
import { Bursts } from '../../faults/workload/bursts.js';
import { Candidate } from '../../faults/workload/candidate.js';
import { SETS } from '../../faults/workload/messages.js';
import { FencedSet } from '../../faults/workload/sets.js';
import type { StoredSet } from '../../faults/workload/sets.js';
import type { Stage } from '../../faults/workload/stage.js';
import type { Plan, ProcessPlan } from '../plan/plan.js';
import { boundedCollection } from './bounded-collection.js';
import type { CommandLog } from './command-log.js';
import { JobRunner } from './job-runner.js';
import type { JobNotes } from './job-runner.js';
import { MemoryJournal } from './memory-journal.js';
import { DATABASE, QUORUM_DATABASE } from './names.js';
import { Observer } from './observer.js';
import { Operator } from './operator.js';
import { QuorumActor } from './quorum-actor.js';
import type { SharedSet } from './shared-set.js';
import { simulatedTime } from './simulated-time.js';
import type { Wire } from './wire.js';

/** A request without an answer is repeated after this time. */
export const STORE_TIMEOUT_MS = 1_500;

/** The library that the process with this number has loaded. */
export type BuildOf = (process: number) => Pick<typeof present, 'LockProvider'>;

/** So many of a hundred holders obey when they are asked to release. */
const OBEYING_PERCENT = 80;

/** What all processes of a world share. */
export interface Surrounding {
  readonly plan: Plan;
  readonly sets: readonly MemoryReplicaSet[];
  /** The wire of each set. */
  readonly wires: readonly Wire[];
  readonly memory: SharedSet;
  readonly jobs: JobNotes;
  readonly commands: CommandLog;
  readonly isStopping: () => boolean;
  /** Default: the present build for all. */
  readonly buildOf?: BuildOf;
}

const EVENTS = ['storeError', 'lost', 'wakeups', 'indexError', 'abandoned'] as const;

/** One process of a world: its providers, and everything that it does. */
export class SimulatedWorker {
  readonly number: number;
  readonly journal: MemoryJournal<WorkerLine>;
  /** Its database in each replica set that it uses. */
  readonly dbs: readonly Db[];
  readonly #world: Surrounding;
  readonly #plan: ProcessPlan;
  readonly #stage: Stage;
  readonly #quorum: QuorumLockProvider | undefined;
  isKilled = false;
  hasEnded = false;

  constructor(number: number, plan: ProcessPlan, world: Surrounding) {
    this.number = number;
    this.#world = world;
    this.#plan = plan;
    const { leaseMs, clockAllowanceMs } = world.plan;
    this.dbs = world.sets.slice(0, plan.quorums > 0 ? undefined : 1).map((set) => set.db(DATABASE));
    const [db] = this.dbs;
    if (db === undefined) throw new Error('a world has a replica set');
    const { clock } = surroundingsOf(db);
    const time = simulatedTime(clock);
    this.journal = new MemoryJournal(() => String(time.nowNs()));
    const options = {
      ...{ leaseMs, clockAllowanceMs, storeTimeoutMs: STORE_TIMEOUT_MS, wakeIdleMs: 1_000 },
      ...(plan.isPolling ? { wakeups: 'polling' as const } : {}),
    };
    const { LockProvider } = world.buildOf?.(number) ?? present;
    const locks = new LockProvider(world.commands.watched(this.#wired(0, db), number), options);
    for (const event of EVENTS) locks.on(event, () => undefined);
    this.#quorum = plan.quorums > 0 ? this.#quorumOf(options) : undefined;
    this.journal.write({ type: 'started', process: locks.processId, leaseMs });
    const [wire] = world.wires;
    const stored = db.collection<StoredSet>(SETS);
    const fenced = boundedCollection(wire?.throughCollection(stored) ?? stored, clock);
    let asks = 0;
    const { operations } = world.plan;
    const obedience = randomFrom(plan.operatorSeed ?? 0);
    this.#stage = {
      ...{ locks, journal: this.journal, time, leaseMs },
      ...{
        thinkMs: plan.thinkMs,
        idleMs: plan.idleMs,
        longHoldPercent: plan.longHoldPercent,
        upgradesAgain: plan.upgradesAgain === true,
        ...(world.plan.paceMs === undefined ? {} : { paceMs: world.plan.paceMs }),
        locksWanted: world.plan.locks,
        ...(operations === undefined
          ? {}
          : { followsLimit: true, obeys: () => obedience.percent(OBEYING_PERCENT) }),
      },
      sets: [
        { name: 'memory', set: world.memory },
        { name: 'fenced', set: new FencedSet(fenced) },
      ],
      get isStopping() {
        return world.isStopping();
      },
      nextAsk: () => (asks += 1),
    };
  }

  /** A quorum has a database of its own in each replica set. */
  #quorumOf(options: object): QuorumLockProvider {
    const quorum = new QuorumLockProvider(
      this.dbs.map((db, index) => this.#wired(index, db.client.db(QUORUM_DATABASE))),
      options,
    );
    for (const event of EVENTS) quorum.on(event, () => undefined);
    return quorum;
  }

  #wired(set: number, db: Db): Db {
    return this.#world.wires[set]?.through(db, this.number) ?? db;
  }

  /** How the leases of its quorum name it. */
  get quorumProcess(): string | undefined {
    return this.#quorum?.processId;
  }

  /** Whether it asks for locks again and again. */
  get asksForLocks(): boolean {
    const { actors, bursts, candidates, quorums } = this.#plan;
    return actors + bursts + candidates + quorums > 0;
  }

  async run(): Promise<void> {
    const random = randomFrom(this.#plan.seed);
    const draw = (): ReturnType<typeof randomFrom> => randomFrom(random.between(0, 0x7f_ff_ff_ff));
    const { actors, bursts, candidates, jobs, quorums } = this.#plan;
    const { operators = 0, operatorSeed = 0, observers = 0, observerSeed = 0, reachSeed } = this.#plan;
    const reaching = reachSeed === undefined ? undefined : randomFrom(reachSeed);
    const stage = this.#stage;
    const each = (count: number, make: () => { act(): Promise<void> }): { act(): Promise<void> }[] =>
      Array.from({ length: count }, make);
    const quorum = this.#quorum;
    const all = [
      ...each(actors, () => new Actor(stage, draw())),
      ...each(bursts, () => new Bursts(stage, draw())),
      ...each(candidates, () => new Candidate(stage, draw())),
      ...each(jobs, () => new JobRunner(stage, draw(), this.number, this.#world.jobs)),
      ...(quorum === undefined ? [] : each(quorums, () => new QuorumActor(stage, quorum, draw()))),
      ...each(observers, () => new Observer(stage, randomFrom(observerSeed))),
      ...each(operators, () => new Operator(stage, randomFrom(operatorSeed), this.#world.plan, reaching)),
    ];
    try {
      await Promise.all(all.map((one) => one.act()));
      await stage.locks.close();
      await quorum?.close();
      this.journal.write({ type: 'ended', resources: {} });
      this.hasEnded = true;
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.journal.write({ type: 'complaint', what });
    }
  }
}
