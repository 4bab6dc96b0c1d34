import type { AcquireOptions, LockHandle } from '../../../src/index.js';
import type { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { Random } from '../../../lab/random.js';
import type { Mode, Seat } from '../../faults/history.js';
import { answered } from '../../faults/workload/asks.js';
import { ObservedHold } from '../../faults/workload/observed-hold.js';
import { rest } from '../../faults/workload/stage.js';
import type { Stage } from '../../faults/workload/stage.js';

/** The locks of a quorum begin with this. */
export const QUORUM_LOCK = 'quorum-';

const [HOLD_MS, TIMEOUT_MS] = [80, 6_000];

const MODES: readonly [Mode, ...Mode[]] = ['read', 'read', 'upgradeable', 'write'];

/** Takes locks that are held in a majority of independent replica sets. */
export class QuorumActor {
  readonly #stage: Stage;
  readonly #locks: QuorumLockProvider;
  readonly #random: Random;

  constructor(stage: Stage, locks: QuorumLockProvider, random: Random) {
    this.#stage = stage;
    this.#locks = locks;
    this.#random = random;
  }

  async act(): Promise<void> {
    while (!this.#stage.isStopping) {
      await rest(this.#stage, this.#random.between(0, this.#stage.idleMs));
      await (this.#random.percent(60) ? this.#useMutex() : this.#useReaderWriter());
    }
  }

  async #useMutex(): Promise<void> {
    const lock = `${QUORUM_LOCK}mutex`;
    const mutex = this.#locks.createMutex(lock);
    const hold = await this.#ask(lock, { kind: 'mutex' }, (options, isTry) =>
      isTry ? mutex.tryAcquire(options) : mutex.acquire(options),
    );
    if (hold === null) return;
    await this.#stay(hold);
    await hold.release();
  }

  async #useReaderWriter(): Promise<void> {
    const lock = `${QUORUM_LOCK}reader-writer`;
    const both = this.#locks.createReaderWriterLock(lock);
    const mode = this.#random.pick(MODES);
    const hold = await this.#ask(lock, { kind: 'reader-writer', mode }, (options, isTry) => {
      if (mode === 'read') return isTry ? both.tryAcquireRead(options) : both.acquireRead(options);
      if (mode === 'write') return isTry ? both.tryAcquireWrite(options) : both.acquireWrite(options);
      return isTry ? both.tryAcquireUpgradeableRead(options) : both.acquireUpgradeableRead(options);
    });
    if (hold === null) return;
    await this.#stay(hold);
    const isWriter = mode === 'write' || (mode === 'upgradeable' && (await this.#upgrade(hold)));
    if (isWriter && this.#random.percent(40)) {
      await hold.change(this.#random.pick(['read', 'upgradeable']), {}, false);
      await this.#stay(hold);
    }
    await hold.release();
  }

  async #upgrade(hold: ObservedHold): Promise<boolean> {
    const timeoutMs = this.#random.between(50, TIMEOUT_MS);
    const isWriter = await hold.change('write', { timeoutMs }, this.#random.percent(30));
    if (isWriter) await this.#stay(hold);
    return isWriter;
  }

  async #ask(
    lock: string,
    seat: Seat,
    acquire: (options: AcquireOptions, isTry: boolean) => Promise<LockHandle | null>,
  ): Promise<ObservedHold | null> {
    const { journal } = this.#stage;
    const isTry = this.#random.percent(20);
    const timeoutMs = isTry ? 0 : this.#random.percent(30) ? null : this.#random.between(50, TIMEOUT_MS);
    const ask = this.#stage.nextAsk();
    journal.write({ type: 'asked', ask, lock, seat, timeoutMs });
    const options = timeoutMs === null || isTry ? {} : { timeoutMs };
    const handle = await answered(this.#stage, [ask], acquire(options, isTry));
    return handle === null ? null : new ObservedHold(handle, ask, this.#stage);
  }

  async #stay(hold: ObservedHold): Promise<void> {
    const { time, leaseMs, longHoldPercent } = this.#stage;
    if (this.#random.percent(10)) await hold.confirm();
    const ms = this.#random.percent(longHoldPercent) ? leaseMs : this.#random.between(0, HOLD_MS);
    const endMs = time.nowMs() + ms;
    while (hold.look() && time.nowMs() < endMs && !this.#stage.isStopping) await time.pause(20);
  }
}
