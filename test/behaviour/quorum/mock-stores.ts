import { AcquireTimeoutError, LockLostError, StoreUnavailableError } from '../../../src/errors.js';
import type { LossCause } from '../../../src/errors.js';
import type { LockProviderEvents } from '../../../src/events.js';
import type { Standing } from '../../../src/lease/holding/loss.js';
import { parsePrimitiveOptions } from '../../../src/options/request-options.js';
import type { Mode } from '../../../src/protocol/lock-document.js';
import type { LeaseInfo, LockSnapshot } from '../../../src/protocol/replies/snapshot.js';
import { ContendedLocks } from '../../../src/quorum/contended-locks.js';
import { QuorumMutex, QuorumReaderWriterLock } from '../../../src/quorum/quorum-locks.js';
import { parseQuorumOptions } from '../../../src/quorum/quorum-options.js';
import type { QuorumLockProviderOptions } from '../../../src/quorum/quorum-options.js';
import { QuorumRequester } from '../../../src/quorum/quorum-requester.js';
import { StoreHealth } from '../../../src/quorum/store-health.js';
import type { StoreSeat, Store, SeatRequest } from '../../../src/quorum/store.js';
import type { DocumentWatcher } from '../../../src/store/streams/document-watch.js';
import { ManualClock } from '../../support/manual-clock.js';
import { settled } from '../../../lab/patience.js';

/** A seat that a test grants and ends. */
export class MockSeat implements StoreSeat {
  readonly name: string;
  readonly id: string;
  store = 0;
  fencingToken: number;
  readonly #clock: ManualClock;
  readonly #loss = new AbortController();
  readonly #request = new AbortController();
  readonly #onEnded: (() => void)[] = [];
  #deadlineMs: number;
  #ended: LossCause | undefined;
  #mode: Mode;
  /** `undefined`: the token stays. */
  tokenOfUpgrade: number | undefined;
  /** The token that the fence was lifted to. */
  fence: number;
  /** The answer of the store when its fence is to be lifted. */
  answerToRaise: () => Promise<void> = () => Promise.resolve();
  answerToRelease: () => Promise<boolean> = () => Promise.resolve(true);
  answerToConfirm: () => Promise<void> = () => Promise.resolve();
  answerToModeChange: () => Promise<void> = () => Promise.resolve();

  constructor(clock: ManualClock, { name, mode, durations }: SeatRequest, token: number) {
    this.#clock = clock;
    this.name = name;
    this.id = `w${token}`;
    this.fencingToken = token;
    this.fence = token;
    this.#mode = mode;
    this.#deadlineMs = clock.nowMs() + durations.leaseMs - durations.clockAllowanceMs;
  }

  get signal(): AbortSignal {
    return this.#loss.signal;
  }

  get releaseRequested(): AbortSignal {
    return this.#request.signal;
  }

  checkEnd(): LossCause | undefined {
    if (this.#ended === undefined && this.#clock.nowMs() >= this.#deadlineMs) this.end('expired');
    return this.#ended;
  }

  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  get remainingMs(): number {
    return this.checkEnd() === undefined ? this.#deadlineMs - this.#clock.nowMs() : 0;
  }

  standing(): Standing {
    return { remainingMs: this.remainingMs, why: this.checkEnd() };
  }

  extendTo(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
  }

  end(why: LossCause): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    for (const callback of this.#onEnded) callback();
  }

  askToRelease(): void {
    this.#request.abort();
  }

  onEnded(callback: () => void): () => void {
    if (this.checkEnd() !== undefined) callback();
    else this.#onEnded.push(callback);
    return () => undefined;
  }

  assertHeld(): void {
    const ended = this.checkEnd();
    if (ended !== undefined) throw new LockLostError(this.name, ended);
  }

  async confirm(): Promise<void> {
    this.assertHeld();
    await this.answerToConfirm();
  }

  async raiseFence(token: number): Promise<void> {
    await this.answerToRaise();
    this.assertHeld();
    this.fence = token;
  }

  async release(): Promise<boolean> {
    const wasHeld = this.checkEnd() === undefined;
    this.end('released');
    return wasHeld && (await this.answerToRelease());
  }

  currentMode(): Mode {
    return this.#mode;
  }

  async upgrade(): Promise<void> {
    await this.answerToModeChange();
    this.#mode = 'write';
    this.fencingToken = this.tokenOfUpgrade ?? this.fencingToken;
  }

  async tryUpgrade(): Promise<boolean> {
    await this.upgrade();
    return true;
  }

  async downgrade(to: 'upgradeable' | 'read'): Promise<void> {
    this.#mode = to;
    await this.answerToModeChange();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

type Tell = (wish: SeatRequest) => Promise<MockSeat>;

/** A store whose answers come from a test. */
export class MockStore implements Store {
  readonly index: number;
  readonly seats: MockSeat[] = [];
  readonly watchers = new Set<DocumentWatcher>();
  readonly #clock: ManualClock;
  asked = 0;
  says: Tell;
  shows: () => Promise<LockSnapshot | null> = () => Promise.resolve(null);

  constructor(index: number, clock: ManualClock) {
    this.index = index;
    this.#clock = clock;
    this.says = this.grants(100 + index);
  }

  /** Grants with this token, which rises from grant to grant. */
  grants(token: number): Tell {
    let next = token;
    return (wish) => {
      const seat = new MockSeat(this.#clock, wish, next);
      next += 1_000;
      return Promise.resolve(seat);
    };
  }

  async try(wish: SeatRequest): Promise<StoreSeat> {
    this.asked += 1;
    const seat = await this.says(wish);
    seat.store = this.index;
    this.seats.push(seat);
    return seat;
  }

  watch(_: string, watcher: DocumentWatcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  tell(words: readonly string[] | null): void {
    for (const watcher of this.watchers) watcher.changed(words);
  }

  inspect(): Promise<LockSnapshot | null> {
    return this.shows();
  }

  unanswered(): Error {
    return new Error('no answer yet');
  }

  health(): never {
    throw new Error('not mocked');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The seats that are still held. */
  get held(): readonly MockSeat[] {
    return this.seats.filter((seat) => seat.isHeld);
  }
}

/** A holder in another process, as a refusal names it. */
export const holder = (id: string, process: string): LeaseInfo => ({
  id,
  process,
  token: 1,
  acquiredAt: new Date(0),
  extendedAt: new Date(0),
  expiresAt: new Date(1),
});

export const refuses =
  (...holders: readonly LeaseInfo[]): Tell =>
  ({ name }) =>
    Promise.reject(new AcquireTimeoutError(name, { holders, waitedMs: 1 }));

export const fails =
  (message: string): Tell =>
  () =>
    Promise.reject(new Error(message));

/** Like `fails`, but the store did not answer. */
export const isSilent: Tell = ({ name }) =>
  Promise.reject(new StoreUnavailableError(name, false, new Error('no answer')));

export const hangs: Tell = () => new Promise(() => undefined);

interface Told {
  readonly event: keyof LockProviderEvents;
  readonly payload: object;
}

/** A quorum of mock stores on a manual clock. */
export class MockQuorum {
  readonly clock = new ManualClock();
  readonly stores: readonly MockStore[];
  readonly told: Told[] = [];
  readonly closing = new AbortController();
  readonly mutex: QuorumMutex;
  readonly lock: QuorumReaderWriterLock;

  constructor(count = 3, options: QuorumLockProviderOptions = {}) {
    this.stores = Array.from({ length: count }, (_, index) => new MockStore(index, this.clock));
    const { settings, minValidityMs } = parseQuorumOptions(options);
    const requester = new QuorumRequester({
      stores: this.stores,
      majority: Math.floor(count / 2) + 1,
      settings,
      clock: this.clock,
      report: (event, payload) => {
        this.told.push({ event, payload });
      },
      closing: this.closing.signal,
      health: new StoreHealth(),
      contended: new ContendedLocks(this.clock),
      minValidityMs,
    });
    const { durations } = parsePrimitiveOptions(settings, 'createMutex');
    this.mutex = new QuorumMutex(requester, 'm', durations);
    this.lock = new QuorumReaderWriterLock(requester, 'rw', durations);
  }

  say(...says: readonly (Tell | undefined)[]): void {
    for (const [index, store] of this.stores.entries()) {
      const tell = says[index];
      if (tell !== undefined) store.says = tell;
    }
  }

  /** How many seats are held in each store. */
  get held(): readonly number[] {
    return this.stores.map((store) => store.held.length);
  }

  get events(): readonly string[] {
    return this.told.map(({ event }) => event);
  }
}

/** Advances the clock until the promise settles. */
export async function inTime<T>(quorum: MockQuorum, promise: Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = (): void => {
    over.abort();
  };
  promise.then(end, end);
  for (let steps = 0; !over.signal.aborted && steps < 5_000; steps += 1) {
    await settled();
    quorum.clock.advance(10);
  }
  return await promise;
}
