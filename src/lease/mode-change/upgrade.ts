import { withCallerFrames } from '../../caller-frames.js';
import { BETWEEN_REPEATS } from '../../backoff.js';
import { within } from '../../clock.js';
import type { Moment } from '../../clock.js';
import { AcquireTimeoutError } from '../../errors.js';
import type { ParsedWait } from '../../options/request-options.js';
import { fateOf } from '../../protocol/replies/reply.js';
import type { Reply } from '../../protocol/replies/reply.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import { CANCEL_GRACE_MS, Scope } from '../../scope.js';
import type { Stop } from '../../scope.js';
import { unavailable } from '../../store/unavailable.js';
import type { LeaseContext } from '../acquiring/lease-context.js';
import { StoreAnswers } from '../acquiring/store-answers.js';
import type { Hold } from '../holding/hold.js';
import { lossError } from '../holding/loss.js';
import { TurnWait } from '../waiting/turn.js';
import type { Turn } from '../waiting/turn.js';
import type { ModeExchange } from './mode-exchange.js';

/** An event that ends a call of `upgrade` before the answer. `over`: the hold has ended. */
type End = Stop | { readonly type: 'over' };

type UpgradeAsked = Turn | { readonly type: 'busy' } | End;

/**
 * One call of upgrade. It waits as an acquire does, under the id of its hold, and jumps the queue. If the call fails
 * and the hold is not over, the hold stays upgradeable, and the library cancels the upgrade on the server. The cancel
 * is repeated in the background until an answer shows its effect, also after a refusal by the server. The repeats stop
 * when the hold is over, a later change has begun, the document is corrupt, or the driver refuses. A try that was
 * answered with busy needs no cancel.
 */
export class Upgrade {
  readonly #context: LeaseContext;
  readonly #hold: Hold;
  readonly #exchange: ModeExchange;
  readonly #options: ParsedWait;
  readonly #startedMs: number;
  readonly #answers: StoreAnswers;
  readonly #stopped: Promise<End>;
  #stop!: (end: End) => void;
  #holders: readonly LeaseInfo[] = [];

  constructor(context: LeaseContext, hold: Hold, exchange: ModeExchange, options: ParsedWait) {
    this.#context = context;
    this.#hold = hold;
    this.#exchange = exchange;
    this.#options = options;
    this.#startedMs = context.clock.nowMs();
    this.#answers = new StoreAnswers(context.collection);
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  /** Resolves when the hold is a write, or rejects with the reason why it is not. */
  async run(): Promise<void> {
    const { clock, closing, settings } = this.#context;
    const limits = { ...this.#options, startedMs: this.#startedMs };
    const close = new Scope(this.#hold.name, clock, closing, limits, settings.storeTimeoutMs).open({
      aborted: (errorOf) => {
        this.#stop({ type: 'aborted', errorOf });
      },
      timeUp: () => {
        this.#stop({ type: 'time up' });
      },
    });
    const unwatch = this.#hold.onEnded(() => {
      this.#stop({ type: 'over' });
    });
    try {
      await this.#upgrade();
    } finally {
      close();
      unwatch();
    }
  }

  /** Asks for the upgrade until the hold is a write; throws if the upgrade fails. The pauses between requests grow. */
  async #upgrade(): Promise<void> {
    for (let repeats = 0; ; repeats += 1) {
      if (await this.#askOnce()) return;
      const stop = await Promise.race([BETWEEN_REPEATS.pause(this.#context.clock, repeats), this.#stopped]);
      if (stop !== undefined) await this.#finish(stop);
    }
  }

  /**
   * Asks for the upgrade once and waits for its turn. Returns whether the hold is a write now. `false`: a look showed
   * no waiting upgrade of this hold, or the reported grant is that of an earlier upgrade. The answer to the next
   * request then shows the state of the upgrade.
   */
  async #askOnce(): Promise<boolean> {
    const { room } = this.#context;
    const { name, id, grant } = this.#hold;
    const { rules, durations } = grant;
    const wait = new TurnWait({ name, rules, id, durations, hasLease: true }, (_, reply) => {
      this.#note(reply);
    });
    // The grant may arrive before the reply, so the wait is registered before the request is sent (L2).
    room.enter(wait);
    const asked = await Promise.race([this.#ask(wait), this.#stopped]);
    // `false`: the room must not give back a later grant. A leave for the grant would name the id of the hold, and so
    // release the hold. `#cancel` takes back a later grant.
    room.leave(wait, false);
    return await this.#finish(asked);
  }

  async #ask(wait: TurnWait): Promise<UpgradeAsked> {
    const onTrouble = (error: unknown): void => {
      this.#answers.failed(error);
    };
    const changed = await this.#exchange.send('write', { waits: !this.#isTry, persists: false, onTrouble });
    if (changed.type !== 'done') return changed;
    const { lease, reply, sentAt, deadline } = changed;
    this.#note(reply);
    if (lease.mode === 'write') return { type: 'granted', token: lease.token, deadline };
    const fate = fateOf(reply, this.#hold.id);
    if (fate.type !== 'queued') return { type: 'busy' };
    this.#context.room.queued(wait, fate.place, reply, sentAt);
    return await wait.turn;
  }

  /** Returns whether the hold is a write now; throws if the upgrade has failed. */
  async #finish(asked: UpgradeAsked): Promise<boolean> {
    // If the deadline has passed, `checkEnd` ends the hold as lost.
    if (this.#hold.checkEnd() !== undefined) throw this.#loss();
    switch (asked.type) {
      case 'granted':
        return this.#accept(asked.token, asked.deadline);
      case 'lapsed':
        return false;
      case 'busy':
        // A try found other readers. No change is in flight any more, and the token is unchanged.
        this.#hold.changed(this.#hold.token);
        throw this.#timeout();
      case 'failed':
        throw this.#cancelAndExplain(() => unavailable(this.#hold.name, false, asked.error));
      case 'aborted':
        throw this.#cancelAndExplain(asked.errorOf);
      case 'time up':
        return await this.#timeUp();
      case 'over':
        throw new Error(
          'unreachable: the hold has not ended, and no later change can begin during an upgrade',
        );
    }
  }

  #accept(token: number, deadline: Moment): boolean {
    if (token <= this.#hold.token) return false;
    this.#hold.seat.extendTo(deadline);
    this.#exchange.modeKnown('write', 'upgradeable', token);
    return true;
  }

  /**
   * Called when the time is up: cancels the upgrade and throws. After the cancel the hold is upgradeable, even if the
   * grant came first.
   */
  async #timeUp(): Promise<never> {
    const { clock, report, settings } = this.#context;
    const { name, id, grant } = this.#hold;
    if (this.#isTry) {
      const why = this.#answers.why(settings.storeTimeoutMs);
      throw this.#cancelAndExplain(() => unavailable(name, false, why));
    }
    this.#answers.ending();
    await within(clock, CANCEL_GRACE_MS, this.#cancel());
    if (this.#hold.checkEnd() !== undefined) throw this.#loss();
    const event = { lockName: name, kind: grant.rules.kind, id };
    report('timeout', { ...event, waitedMs: this.#waitedMs });
    throw this.#timeout();
  }

  #cancelAndExplain(errorOf: () => unknown): unknown {
    void this.#cancel();
    return withCallerFrames(errorOf);
  }

  /**
   * Takes the upgrade back, whether it was granted or not. Once an answer shows this change, the lease is upgradeable,
   * and no upgrade of it waits.
   */
  async #cancel(): Promise<void> {
    const onTrouble = (error: unknown): void => {
      this.#answers.failed(error);
    };
    const changed = await this.#exchange.send('upgradeable', { persists: true, onTrouble });
    if (changed.type !== 'done') return;
    this.#answers.answered();
    this.#exchange.modeKnown('upgradeable', 'upgradeable', changed.lease.token);
  }

  get #isTry(): boolean {
    return this.#options.timeoutMs === 0;
  }

  get #waitedMs(): number {
    return this.#context.clock.nowMs() - this.#startedMs;
  }

  #loss(): unknown {
    return withCallerFrames(() => lossError(this.#hold, this.#hold.checkEnd() ?? 'expired'));
  }

  #timeout(): unknown {
    const store = this.#answers.atTimeout(CANCEL_GRACE_MS);
    const details = { holders: this.#holders, place: null, waitedMs: this.#waitedMs, ...store };
    return withCallerFrames(() => new AcquireTimeoutError(this.#hold.name, details));
  }

  #note({ leases }: Reply): void {
    this.#answers.answered();
    this.#holders = leases.filter(({ id }) => id !== this.#hold.id).map(describeLease);
  }
}
