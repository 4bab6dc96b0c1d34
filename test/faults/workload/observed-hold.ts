import { textOf } from '../../../src/error-text.js';
import { LockLostError } from '../../../src/index.js';
import type { AcquireOptions, LockHandle, ReaderWriterHandle } from '../../../src/index.js';
import type { Mode, WorkerLine } from '../history.js';
import { codeIn, complainUnlessTyped } from './error-codes.js';
import type { Journal } from './journal.js';
import type { NamedSet } from './stage.js';
import type { WorkerTime } from './worker-time.js';

const NS_PER_MS = 1e6;

/** A promise is written down again when it is longer than the last written one by more than this. */
const NEWS_NS = 1_000_000n;

const LOOK_EVERY_MS = 25;

/** What a hold needs to write down what happens to it. */
export interface Witness {
  readonly journal: Journal<WorkerLine>;
  readonly time: WorkerTime;
  /** Draws whether a holder obeys when it is asked to release. Absent where no operator is at work. */
  readonly obeys?: () => boolean;
}

/** A hold that writes everything about itself to the journal. */
export class ObservedHold {
  readonly handle: LockHandle;
  readonly #ask: number;
  readonly #journal: Journal<WorkerLine>;
  readonly #time: WorkerTime;
  readonly #stopLooking: () => void;
  #promisedNs = 0n;
  /** When a look found the hold in doubt, and its deadline ahead. */
  #openNs: bigint | undefined;
  /** The longest promise in the journal. */
  #writtenNs: bigint;
  #isOver = false;
  #isParting = false;
  #isReleasing = false;
  #mustLeave = false;

  constructor(handle: LockHandle, ask: number, { journal, time, obeys }: Witness) {
    this.handle = handle;
    this.#ask = ask;
    this.#journal = journal;
    this.#time = time;
    const { id, fencingToken: token } = handle;
    const atNs = String(time.nowNs());
    // Counted from the same instant: a handle that was lost before its return promises nothing, not even a microsecond.
    const untilNs = this.#untilNs(BigInt(atNs));
    journal.write({ type: 'granted', ask, id, token, untilNs }, atNs);
    this.#writtenNs = BigInt(untilNs);
    // Also while it awaits something else, because the other processes have to wait for the last promise.
    this.#stopLooking = time.every(LOOK_EVERY_MS, () => this.look());
    const { signal } = handle;
    // A process that stood still since the line of the grant finds the signal aborted, and no event follows.
    const onAbort = (): void => {
      this.#aborted(signal);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    if (obeys !== undefined) this.#hearRequests(obeys());
  }

  /** Whether the holder may stay: it has the hold, and does not obey a request to release it. */
  mayStay(): boolean {
    return this.look() && !this.#mustLeave;
  }

  #hearRequests(obeys: boolean): void {
    const { releaseRequested } = this.handle;
    const onRequest = (): void => {
      this.#mustLeave = obeys;
      const says = textOf(releaseRequested.reason);
      if (!this.#isReleasing) this.#journal.write({ type: 'release requested', ask: this.#ask, says, obeys });
    };
    if (releaseRequested.aborted) onRequest();
    else releaseRequested.addEventListener('abort', onRequest);
  }

  #aborted({ reason }: AbortSignal): void {
    const { why } = reason as LockLostError;
    const ask = this.#ask;
    // The signal of a term also aborts when the leader ends the term, which is still held then.
    if (why === 'released') {
      this.#isParting = true;
      this.#journal.write({ type: 'term ends', ask });
    } else {
      const open = this.#openNs === undefined ? {} : { openNs: String(this.#openNs) };
      this.#journal.write({ type: 'lost', ask, why, says: textOf(reason), ...open });
    }
  }

  /** Whether the hold is still good. */
  look(): boolean {
    const lookedNs = this.#time.nowNs();
    const { isHeld, signal } = this.handle;
    const promisedNs = this.#promisedNs;
    const untilNs = this.#untilNs();
    const isInDoubt = !isHeld && this.#isInDoubt;
    this.#openNs = isInDoubt ? lookedNs : undefined;
    if (isHeld && BigInt(untilNs) > this.#writtenNs + NEWS_NS) {
      this.#writtenNs = BigInt(untilNs);
      this.#journal.write({ type: 'promised', ask: this.#ask, untilNs });
    }
    // A hold in doubt may be confirmed, also after the last promise that was seen: an answer may have moved its deadline
    // while a jump of the clock hid that. If it was in doubt at its grant already, nothing was promised yet.
    const isOverdue = promisedNs > 0n && this.#time.nowNs() >= promisedNs;
    const isFinal = signal.aborted || (isOverdue && !isInDoubt);
    // A leader that gives up its term relies on it until its work has ended.
    if (!isHeld && isFinal && !this.#isOver && !this.#isParting && !this.#isReleasing) {
      this.#isOver = true;
      this.#journal.write({ type: 'not held', ask: this.#ask });
    }
    return isHeld;
  }

  /** Whether the hold says of itself that the server must confirm it first. */
  get #isInDoubt(): boolean {
    const { why } = JSON.parse(JSON.stringify(this.handle)) as { why?: unknown };
    return why === 'suspended';
  }

  async confirm(): Promise<void> {
    try {
      await this.handle.confirm();
    } catch (error) {
      complainUnlessTyped(this.#journal, 'confirm', error);
    }
    this.look();
  }

  /** Asks for another mode. Returns whether the handle has it now. */
  async change(to: Mode, options: AcquireOptions, isTry: boolean): Promise<boolean> {
    const handle = this.handle as ReaderWriterHandle;
    const ask = this.#ask;
    this.#journal.write({ type: 'changing', ask, to });
    try {
      const isDone = await this.#changeMode(handle, to, options, isTry);
      if (!isDone) {
        this.#journal.write({ type: 'not changed', ask, to, code: 'BUSY' });
        return false;
      }
      const token = handle.fencingToken;
      const untilNs = this.#untilNs();
      this.#journal.write({ type: 'changed', ask, to, token, untilNs });
      if (BigInt(untilNs) > this.#writtenNs) this.#writtenNs = BigInt(untilNs);
      return true;
    } catch (error) {
      complainUnlessTyped(this.#journal, `change to ${to}`, error);
      this.#journal.write({ type: 'not changed', ask, to, code: codeIn(error) });
      return false;
    }
  }

  async #changeMode(
    handle: ReaderWriterHandle,
    to: Mode,
    options: AcquireOptions,
    isTry: boolean,
  ): Promise<boolean> {
    if (to !== 'write') {
      await handle.downgrade(to);
      return true;
    }
    if (isTry) return await handle.tryUpgrade(options);
    await handle.upgrade(options);
    return true;
  }

  /** Adds a value under the lock. Returns whether the outcome is known. */
  async add({ name, set }: NamedSet, value: string, think: () => Promise<void>): Promise<boolean> {
    const what = { ask: this.#ask, set: name, lock: this.handle.name, value };
    this.#journal.write({ type: 'adding', ...what });
    const outcome = await set.add(value, this.handle, think);
    this.#journal.write({ type: 'added', ...what, outcome, isLate: !this.look() });
    return outcome !== 'unknown';
  }

  /** Writes down whether the term was handed over to this candidate. */
  handedOver(to: string, isHanded: boolean): void {
    this.#journal.write({ type: 'handed over', ask: this.#ask, to, isHanded });
  }

  releasing(): void {
    this.look();
    // One of several locks is held and extended until it is given back, which may be long after the first of them.
    this.#isReleasing = true;
    this.#journal.write({ type: 'releasing', ask: this.#ask });
  }

  released(wasHeld: boolean): void {
    this.#stopLooking();
    this.#journal.write({ type: 'released', ask: this.#ask, wasHeld });
  }

  async release(): Promise<void> {
    this.releasing();
    this.released(await this.handle.release());
  }

  /**
   * How long the hold can be relied on, as it says now.
   *
   * @param fromNs - The clock, read before the hold is asked: a process that is paused between the two must not seem to
   *   promise more than it does.
   */
  #untilNs(fromNs: bigint = this.#time.nowNs()): string {
    const { remainingMs } = this.handle;
    const untilNs = fromNs + BigInt(Math.floor(remainingMs * NS_PER_MS));
    if (remainingMs > 0) this.#promisedNs = untilNs;
    return String(untilNs);
  }
}
