import { pauseBeforeRepeat, within } from '../../clock.js';
import type { Moment } from '../../clock.js';
import { AcquireTimeoutError, LockLostError } from '../../errors.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { ParsedWait } from '../../options/request-options.js';
import { fateOf } from '../../protocol/replies/reply.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Seats } from '../../protocol/seats.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import { Scope } from '../../scope.js';
import { unavailable } from '../../store/unavailable.js';
import type { AcquisitionContext } from '../acquiring/acquisition-context.js';
import type { Wait } from '../waiting/wait.js';
import type { HeldLease } from '../holding/held-lease.js';
import { lossOf } from '../holding/loss.js';
import type { ModeExchange } from './mode-exchange.js';
import { StoreAnswers } from '../acquiring/store-answers.js';

/** How long the answer to a cancel is awaited once the time to wait is up. */
const CANCEL_GRACE_MS = 1_000;

/**
 * One call of upgrade, from the request to its end. It waits as an acquire does, under the id of its hold, before the
 * whole queue. However it fails, the upgrade is taken back, in the background if it must, and the hold stays as it is.
 */
export class Upgrade implements Wait {
  readonly hasLease = true;
  readonly #context: AcquisitionContext;
  readonly #hold: HeldLease;
  readonly #exchange: ModeExchange;
  readonly #options: ParsedWait;
  readonly #startedMs: number;
  readonly #settled: Promise<void>;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;
  #isOver = false;
  #repeats = 0;
  #holders: readonly LeaseInfo[] = [];
  readonly #answers: StoreAnswers;
  #closeScope: () => void = () => undefined;

  constructor(context: AcquisitionContext, hold: HeldLease, exchange: ModeExchange, options: ParsedWait) {
    this.#context = context;
    this.#hold = hold;
    this.#exchange = exchange;
    this.#options = options;
    this.#startedMs = context.clock.nowMs();
    this.#answers = new StoreAnswers(context.collection);
    this.#settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get name(): string {
    return this.#hold.name;
  }

  get seats(): Seats {
    return this.#hold.grant.seats;
  }

  get id(): string {
    return this.#hold.id;
  }

  get terms(): LeaseTerms {
    return this.#hold.grant.terms;
  }

  /** Resolves when the hold is a write; rejects with what kept it from it. */
  async run(): Promise<void> {
    const { clock, closing, room, settings } = this.#context;
    const timeoutMs = this.#isTry ? settings.storeTimeoutMs : this.#options.timeoutMs;
    const limits = { signal: this.#options.signal, startedMs: this.#startedMs, timeoutMs };
    this.#closeScope = new Scope(this.name, clock, closing, limits).open({
      aborted: (errorOf) => {
        this.#giveUp(errorOf());
      },
      timeUp: () => {
        if (this.#isTry) this.failed(this.#answers.why(timeoutMs));
        else void this.#timeUp();
      },
    });
    const unwatch = this.#hold.onEnded(() => {
      this.#end(() => {
        this.#reject(this.#lossError());
      });
    });
    // Registered before the request is sent: its grant may be heard before the reply (L2).
    room.enter(this);
    void this.#ask();
    try {
      await this.#settled;
    } finally {
      this.#closeScope();
      unwatch();
    }
  }

  // ---- what the waiting room tells

  granted(token: number, deadline: Moment): void {
    // Asking tells of a loss that is due, and ends this with it.
    if (this.#hold.ended !== undefined) return;
    if (token <= this.#hold.token) {
      this.lapsed();
      return;
    }
    this.#end(() => {
      this.#hold.extendTo(deadline);
      this.#exchange.settle('write', 'upgradeable', token);
      this.#resolve();
    });
  }

  /** The answer of a majority shows no lease, or none that waits: asking once more tells why. */
  lapsed(): void {
    if (this.#isOver) return;
    this.#context.room.enter(this);
    void this.#askAgain();
  }

  failed(error: unknown): void {
    this.#giveUp(unavailable(this.name, false, error));
  }

  placed(_place: number, reply: Reply): void {
    this.#note(reply);
  }

  get #isTry(): boolean {
    return this.#options.timeoutMs === 0;
  }

  /** The pause grows, so that an answer which settles nothing is no reason to ask in a loop. */
  async #askAgain(): Promise<void> {
    const repeats = this.#repeats;
    this.#repeats += 1;
    await pauseBeforeRepeat(this.#context.clock, repeats);
    if (!this.#isOver) await this.#ask();
  }

  async #ask(): Promise<void> {
    const onTrouble = (error: unknown): void => {
      this.#answers.failed(error);
    };
    const changed = await this.#exchange.send('write', { waits: !this.#isTry, persists: false, onTrouble });
    if (this.#isOver || changed.type === 'over') return;
    if (changed.type === 'failed') {
      this.failed(changed.error);
      return;
    }
    const { lease, reply, sentAt, deadline } = changed;
    this.#note(reply);
    const fate = fateOf(reply, this.id);
    if (lease.mode === 'write') this.granted(lease.token, deadline);
    else if (fate.type === 'queued') this.#context.room.queued(this, fate.place, reply, sentAt);
    else this.#refused();
  }

  /** A try found other readers; the server has counted it, and that is all. */
  #refused(): void {
    this.#hold.changed(this.#hold.token);
    this.#end(() => {
      this.#reject(this.#timeoutError());
    });
  }

  /** Whatever comes first, the grant or the cancel: after the cancel the hold is upgradeable. */
  async #timeUp(): Promise<void> {
    if (this.#isOver) return;
    const { clock, report } = this.#context;
    this.#leave();
    this.#answers.ending();
    await within(clock, CANCEL_GRACE_MS, this.#cancel());
    if (this.#hold.ended !== undefined) {
      this.#reject(this.#lossError());
      return;
    }
    this.#reject(this.#timeoutError());
    const event = { lockName: this.name, kind: this.seats.kind, id: this.id };
    report('timeout', { ...event, waitedMs: this.#waitedMs });
  }

  #giveUp(error: unknown): void {
    this.#end(() => {
      void this.#cancel();
      this.#reject(error);
    });
  }

  /** Takes the upgrade back, granted or not: afterwards the hold is upgradeable and nobody waits for it. */
  async #cancel(): Promise<void> {
    const onTrouble = (error: unknown): void => {
      this.#answers.failed(error);
    };
    const changed = await this.#exchange.send('upgradeable', { persists: true, onTrouble });
    if (changed.type !== 'done') return;
    this.#answers.answered();
    this.#exchange.settle('upgradeable', 'upgradeable', changed.lease.token);
  }

  #end(settle: () => void): void {
    if (this.#isOver) return;
    this.#leave();
    settle();
  }

  /** A grant that comes later is not given back here: that would release the hold. The cancel takes it back. */
  #leave(): void {
    this.#isOver = true;
    this.#closeScope();
    this.#context.room.leave(this, true);
  }

  get #waitedMs(): number {
    return this.#context.clock.nowMs() - this.#startedMs;
  }

  #lossError(): LockLostError {
    return lossOf(this.#hold, this.#hold.ended ?? 'expired');
  }

  #timeoutError(): AcquireTimeoutError {
    const store = this.#answers.atTimeout(CANCEL_GRACE_MS);
    const details = { holders: this.#holders, place: null, waitedMs: this.#waitedMs, ...store };
    return new AcquireTimeoutError(this.name, details);
  }

  /** Who is in the way: everybody but the hold itself. */
  #note({ leases }: Reply): void {
    this.#answers.answered();
    this.#holders = leases.filter(({ id }) => id !== this.id).map(describeLease);
  }
}
