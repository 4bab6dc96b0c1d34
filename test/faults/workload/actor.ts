import type { AcquireOptions, CompositeHandle, LockHandle, LockRequest } from '../../../src/index.js';
import type { Random } from '../../../lab/random.js';
import { answered, asked } from './asks.js';
import { ObservedHold } from './observed-hold.js';
import type { Stage } from './stage.js';
import { askFor, drawWish, drawWishes, requestOf } from './wishes.js';
import type { Wish } from './wishes.js';

/** The longest times that an actor holds and waits in the ordinary case. */
const [HOLD_MS, TIMEOUT_MS] = [60, 8_000];

/** The longest time of a long hold, during which others wait. */
const LONG_HOLD_MS = 2_000;

/** How often an actor looks at its hold. */
const LOOK_MS = 20;

/** How often an actor without a hold looks whether it has to stop. In a simulation, each look is a step of time. */
const IDLE_LOOK_MS = 250;

/** Takes locks at random and does everything that is possible with them, until the worker is told to stop. */
export class Actor {
  readonly #stage: Stage;
  readonly #random: Random;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  async act(): Promise<void> {
    while (!this.#stage.isStopping) {
      await this.#wait(this.#random.between(0, this.#stage.idleMs), () => true, IDLE_LOOK_MS);
      await (this.#random.percent(12) ? this.#takeSeveral() : this.#takeOne());
    }
  }

  async #takeOne(): Promise<void> {
    const wish = drawWish(this.#random, this.#stage.locksWanted);
    const isTry = this.#random.percent(25);
    const { options, timeoutMs } = this.#drawOptions(isTry);
    const asks = [asked(this.#stage, wish, timeoutMs, false)] as const;
    const handle = await answered(this.#stage, asks, askFor(this.#stage, wish, options, isTry));
    if (handle === null) return;
    const hold = new ObservedHold(handle, asks[0], this.#stage);
    await this.#live(hold, wish);
    // A lost hold must stay lost, even when the store answers again.
    if (!hold.look()) await this.#stage.time.pause(this.#random.between(0, this.#stage.leaseMs / 2));
    await hold.release();
  }

  async #takeSeveral(): Promise<void> {
    const { locks } = this.#stage;
    const wishes = drawWishes(this.#random, this.#stage.locksWanted);
    const { options, timeoutMs } = this.#drawOptions(false);
    const asks = wishes.map((wish) => asked(this.#stage, wish, timeoutMs, true));
    const requests = wishes.map((wish) => requestOf(this.#stage, wish));
    const all: CompositeHandle<LockRequest[]> | null = await answered(
      this.#stage,
      asks,
      locks.acquireAll(requests, options),
    );
    if (all === null) return;
    const holds = all.handles.map(
      (handle: LockHandle, index) => new ObservedHold(handle, asks[index] ?? 0, this.#stage),
    );
    await this.#wait(this.#random.between(0, HOLD_MS), () => holds.every((hold) => hold.mayStay()));
    for (const hold of holds) hold.releasing();
    const wasHeld = await all.release();
    for (const hold of holds) hold.released(wasHeld);
  }

  #drawOptions(isTry: boolean): { options: AcquireOptions; timeoutMs: number | null } {
    const why = 'some work';
    if (isTry) return { options: { why }, timeoutMs: 0 };
    if (this.#random.percent(30)) return { options: { why }, timeoutMs: null };
    const timeoutMs = this.#random.between(50, TIMEOUT_MS);
    if (this.#random.percent(80)) return { options: { why, timeoutMs }, timeoutMs };
    return { options: { why, signal: this.#stage.time.abortAfter(timeoutMs) }, timeoutMs };
  }

  /** Uses one lock: holds it, looks, confirms it, changes its mode, or changes the data that it protects. */
  async #live(hold: ObservedHold, { seat }: Wish): Promise<void> {
    const random = this.#random;
    if (seat.kind === 'reader-writer' && seat.mode === 'upgradeable') {
      await this.#changeModes(hold);
      return;
    }
    const isExclusive = seat.kind === 'mutex' || (seat.kind === 'reader-writer' && seat.mode === 'write');
    if (isExclusive && random.percent(60) && !(await this.#add(hold))) return;
    if (random.percent(15)) await hold.confirm();
    await this.#wait(this.#drawHoldMs(), () => hold.mayStay());
    if (seat.kind === 'reader-writer' && seat.mode === 'write' && random.percent(40)) {
      await hold.change(random.pick(['upgradeable', 'read']), {}, false);
      await this.#wait(random.between(0, HOLD_MS), () => hold.mayStay());
    }
  }

  async #changeModes(hold: ObservedHold): Promise<void> {
    const random = this.#random;
    await this.#wait(random.between(0, HOLD_MS), () => hold.mayStay());
    const { options } = this.#drawOptions(false);
    if (!(await hold.change('write', options, random.percent(30)))) return;
    if (random.percent(60) && !(await this.#add(hold))) return;
    await this.#wait(random.between(0, HOLD_MS), () => hold.mayStay());
    const weaker = random.percent(50) ? random.pick(['upgradeable', 'read'] as const) : undefined;
    if (weaker !== undefined) await hold.change(weaker, {}, false);
    if (weaker === 'upgradeable' && this.#stage.upgradesAgain === true) {
      await hold.change('write', options, false);
      await this.#wait(this.#drawHoldMs(), () => hold.mayStay());
    }
    await this.#wait(random.between(0, HOLD_MS), () => hold.mayStay());
  }

  /**
   * False if the outcome is unknown: the write may still be in flight, and the same token would not refuse it. So the
   * next add needs another token.
   */
  async #add(hold: ObservedHold): Promise<boolean> {
    const set = this.#random.pick(this.#stage.sets);
    const { id, fencingToken } = hold.handle;
    const think = (): Promise<void> => this.#stage.time.pause(this.#random.between(0, this.#stage.thinkMs));
    return await hold.add(set, `${id}:${String(fencingToken)}`, think);
  }

  /** Usually short, and sometimes longer than a lease, so that the hold must be extended. */
  #drawHoldMs(): number {
    if (this.#random.percent(this.#stage.longHoldPercent)) {
      return Math.min(this.#stage.leaseMs, LONG_HOLD_MS) * (this.#random.between(5, 16) / 10);
    }
    return this.#random.between(0, HOLD_MS);
  }

  /** Waits, and looks at the hold now and then. Ends early if the hold is gone, or the worker has to stop. */
  async #wait(ms: number, look: () => boolean, everyMs = LOOK_MS): Promise<void> {
    const { time } = this.#stage;
    const endMs = time.nowMs() + ms;
    while (look() && time.nowMs() < endMs && !this.#stage.isStopping) {
      await time.pause(Math.min(everyMs, Math.max(1, endMs - time.nowMs())));
    }
  }
}
