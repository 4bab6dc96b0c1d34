import type { LockProvider, LockSnapshot } from '../../../src/index.js';
import type { Random } from '../../../lab/random.js';
import { NEW_NAME } from '../../faults/workload/bursts.js';
import { ELECTION } from '../../faults/workload/candidate.js';
import { codeIn, complainUnlessTyped } from '../../faults/workload/error-codes.js';
import type { Stage } from '../../faults/workload/stage.js';
import { SEMAPHORE } from '../../faults/workload/wishes.js';
import { locksIn } from '../plan/draw-operators.js';
import type { Operation, Plan } from '../plan/plan.js';
import { isRevocation } from '../plan/draw-reach.js';
import { JOB } from './job-runner.js';

/** The shortest and the longest time between two calls. */
const [LEAST_PACE_MS, PACE_MS] = [50, 1_200];

/** Limits above, at and below the one that the semaphore begins with, so that some requests ask for too much. */
const LIMITS: readonly [number, ...number[]] = [1, 2, 2, 3, 3, 4, 5];

/** The locks whose holds operators revoke: those of actors, and the elections. */
function revocableIn(plan: Plan): readonly string[] {
  const { processes } = plan;
  const [hasCandidates, hasJobs] = [
    processes.some(({ candidates }) => candidates > 0),
    processes.some(({ jobs }) => jobs > 0),
  ];
  return [...locksIn(plan), ...(hasCandidates ? [ELECTION] : []), ...(hasJobs ? [JOB] : [])];
}

/** Before so many of a hundred other operations, an operator that may revoke holds of new names does so. */
const REACHING_PERCENT = 70;

/** How often it then looks for a new name that is held, and the longest time between two looks. */
const [LOOKS, LOOK_MS] = [20, 120];

/** What an operator does to new names. */
interface Reach {
  readonly random: Random;
  readonly operations: readonly Operation[];
}

/** Revokes the holds of all processes, politely and by force, and changes the limit of the semaphore. */
export class Operator {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #locks: LockProvider;
  readonly #operations: readonly Operation[];
  readonly #names: readonly string[];
  readonly #reach: Reach | undefined;
  #calls = 0;
  /** The hold that was revoked last; it may have ended since. */
  #last: { readonly lock: string; readonly id: string } | undefined;

  /** @param reaching - For what it does to new names; `undefined`: nothing. */
  constructor(stage: Stage, random: Random, plan: Plan, reaching?: Random) {
    this.#stage = stage;
    this.#random = random;
    this.#locks = stage.locks;
    this.#operations = plan.operations ?? [];
    this.#names = revocableIn(plan);
    this.#reach =
      reaching === undefined
        ? undefined
        : { random: reaching, operations: this.#operations.filter(isRevocation) };
  }

  async act(): Promise<void> {
    const { time, paceMs = 0 } = this.#stage;
    while (!this.#stage.isStopping) {
      if (this.#reach?.random.percent(REACHING_PERCENT) === true) await this.#reachOut(this.#reach);
      const operation = this.#pick(this.#operations);
      if (operation !== undefined) await this.#operate(operation);
      await time.pause(this.#random.between(LEAST_PACE_MS, Math.max(PACE_MS, paceMs)));
    }
  }

  async #operate(operation: Operation): Promise<void> {
    if (operation === 'resize') {
      await this.#resize();
      return;
    }
    const lock = this.#pick(this.#names);
    const isForced = operation.startsWith('evict');
    if (lock === undefined) return;
    if (operation.endsWith('all')) {
      await this.#revoke(lock, isForced);
      return;
    }
    const one = this.#last !== undefined && this.#random.percent(10) ? this.#last : await this.#oneOf(lock);
    if (one !== undefined) await this.#revoke(one.lock, isForced, one.id);
  }

  /** Revokes holds of a new name. Bursts hold these names only for a short time, so it looks until it finds one held. */
  async #reachOut({ random, operations }: Reach): Promise<void> {
    for (let look = 0; look < LOOKS && !this.#stage.isStopping; look += 1) {
      const held = await this.#heldNewNames();
      if (held.length > 0) {
        const { [random.between(0, held.length - 1)]: snapshot } = held;
        const { [random.between(0, operations.length - 1)]: operation = 'ask all' } = operations;
        const id = operation.endsWith('one') ? snapshot?.holders[0]?.id : undefined;
        if (snapshot !== undefined) await this.#revoke(snapshot.name, operation.startsWith('evict'), id);
        return;
      }
      await this.#stage.time.pause(random.between(10, LOOK_MS));
    }
  }

  async #heldNewNames(): Promise<readonly LockSnapshot[]> {
    const sinceNs = String(this.#stage.time.nowNs());
    const held: LockSnapshot[] = [];
    try {
      for await (const snapshot of this.#locks.list({ prefix: NEW_NAME, heldOnly: true }))
        held.push(snapshot);
    } catch (error) {
      this.#failedToRead(sinceNs, error);
    }
    return held;
  }

  /** A hold that a read of this lock shows. */
  async #oneOf(lock: string): Promise<{ readonly lock: string; readonly id: string } | undefined> {
    const sinceNs = String(this.#stage.time.nowNs());
    try {
      const snapshot = await this.#locks.inspect(lock);
      const id = this.#pick(snapshot?.holders ?? [])?.id;
      if (id !== undefined) this.#last = { lock, id };
      return id === undefined ? undefined : { lock, id };
    } catch (error) {
      this.#failedToRead(sinceNs, error);
      return undefined;
    }
  }

  #failedToRead(sinceNs: string, error: unknown): void {
    this.#stage.journal.write({ type: 'failed', what: 'inspect', sinceNs, code: codeIn(error) });
    complainUnlessTyped(this.#stage.journal, 'inspect', error);
  }

  async #revoke(lock: string, isForced: boolean, id?: string): Promise<void> {
    const { journal } = this.#stage;
    const call = this.#nextCall();
    const why = `operation ${call}`;
    const one = id === undefined ? {} : { id };
    journal.write({ type: 'revoking', call, lock, isForced, why, ...one });
    const options = { force: isForced, why, ...one };
    try {
      journal.write({ type: 'revoked', call, ...(await this.#locks.revoke(lock, options)) });
    } catch (error) {
      this.#failed('revoke', call, error);
    }
  }

  async #resize(): Promise<void> {
    const limit = this.#random.pick(LIMITS);
    const call = this.#nextCall();
    const { journal } = this.#stage;
    const semaphore = this.#locks.createSemaphore(SEMAPHORE, limit, { whenLimitDiffers: 'follow' });
    journal.write({ type: 'resizing', call, lock: SEMAPHORE, limit });
    try {
      await semaphore.resize(limit);
      journal.write({ type: 'resized', call });
    } catch (error) {
      this.#failed('resize', call, error);
    }
  }

  #nextCall(): number {
    return (this.#calls += 1);
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[this.#random.between(0, Math.max(0, list.length - 1))];
  }

  #failed(what: string, call: number, error: unknown): void {
    this.#stage.journal.write({ type: 'call failed', call, code: codeIn(error) });
    complainUnlessTyped(this.#stage.journal, what, error);
  }
}
