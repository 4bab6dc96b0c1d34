import { beforeEach, describe, expect, it, vi } from 'vitest';
import { momentNow } from '../../../src/clock.js';
import type { Cached } from '../../../src/lease/seat-cache/cached-request.js';
import { KeeperWatch, MOST_READ } from '../../../src/lease/seat-cache/keeper-watch.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const WAKE_IDLE_MS = 10_000;
const KEEP_MS = 25_000;

/** What a read shows of one lock. */
interface Shown {
  readonly othersWait?: boolean;
  readonly ending?: boolean;
  readonly ids?: readonly string[];
}

/** One lock of which the process has a seat. */
const newLock = (name: string) => ({
  name,
  rules: mutexRules,
  keepMs: KEEP_MS,
  hasSeats: true,
  ownSeats: [{ id: name, isOpen: true, wasAskedToRelease: false }],
  othersWait: vi.fn<Cached['othersWait']>(),
  noneWaits: vi.fn<Cached['noneWaits']>(),
});

/** A keeper with a manual clock, and with a store that shows what the test has set. */
class Keeper {
  readonly clock = new ManualClock();
  readonly store = new Map<string, Shown>();
  readonly reads: { readonly names: readonly string[]; readonly atMs: number; readonly level: string }[] = [];
  readonly confirmed: string[] = [];
  isListening = false;
  gaplessSinceMs = 0;
  isPolling = false;
  isAnswering = true;
  readonly watch: KeeperWatch;

  constructor(wakeIdleMs = WAKE_IDLE_MS) {
    this.watch = new KeeperWatch({
      ...{ clock: this.clock, process: 'p', wakeIdleMs },
      collection: { read: (names, _projection, level) => this.#read(names, level) },
      gaplessSinceMs: () => (this.isListening ? this.gaplessSinceMs : Infinity),
      isPolling: () => this.isPolling,
      listen: (isListening) => {
        this.isListening = isListening;
      },
      confirm: (id) => this.confirmed.push(id),
    });
  }

  /** The process gets a seat of this lock, which it may keep. */
  keep(name: string) {
    const lock = newLock(name);
    this.store.set(name, {});
    this.watch.changed(lock as unknown as Cached);
    this.watch.used();
    return lock;
  }

  /** The process has given back its seat of this lock. */
  giveBack(lock: ReturnType<typeof newLock>): void {
    lock.hasSeats = false;
    this.watch.changed(lock as unknown as Cached);
  }

  /** Moves the clock, and lets pending answers arrive. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 50) {
      this.clock.advance(Math.min(left, 50));
      await settled();
    }
  }

  #read(names: readonly string[], level: string): ReturnType<LockRead> {
    const sentAt = momentNow(this.clock);
    this.reads.push({ names, atMs: sentAt.ms, level });
    if (!this.isAnswering) {
      return Promise.resolve({ type: 'unknown', error: new Error('no answer'), maybeApplied: false });
    }
    const now = new Date(this.clock.wallMs());
    const value = names.flatMap((_id) => {
      const shown = this.store.get(_id);
      if (shown === undefined) return [];
      const { othersWait = false, ending = false, ids = [_id] } = shown;
      const leases = ids.map((id) => leaseOf(id, now, ending));
      return [{ _id, now, leases, othersWait }];
    });
    return Promise.resolve({ type: 'done', value, sentAt });
  }
}

type LockRead = ConstructorParameters<typeof KeeperWatch>[0]['collection']['read'];

const leaseOf = (id: string, acquiredAt: Date, ending: boolean): unknown => ({
  ...{ id, process: 'p', token: 1, leaseMs: 60_000, acquiredAt },
  ...{ expiresAt: new Date(acquiredAt.getTime() + 60_000), ...(ending ? { ending } : {}) },
});

describe('a process that keeps seats', () => {
  let keeper: Keeper;

  beforeEach(() => {
    keeper = new Keeper();
  });

  /** Keeps a seat until the process is far, and forgets what was read so far. */
  async function far() {
    const lock = keeper.keep('a');
    await keeper.pass(WAKE_IDLE_MS + 1_000);
    expect(keeper.isListening).toBe(false);
    keeper.reads.length = 0;
    return lock;
  }

  it('listens, and reads nothing, until no caller has used a seat for wakeIdleMs', async () => {
    keeper.keep('a');
    for (let uses = 0; uses < 3; uses += 1) {
      await keeper.pass(WAKE_IDLE_MS - 50);
      expect(keeper).toMatchObject({ isListening: true, reads: [] });
      keeper.watch.used();
    }
  });

  it('stops listening after a read, and then reads all its locks together once a second', async () => {
    keeper.keep('a');
    keeper.keep('b');
    await keeper.pass(WAKE_IDLE_MS);
    expect(keeper).toMatchObject({ isListening: false, reads: [{ names: ['a', 'b'], level: 'local' }] });
    await keeper.pass(10_000);
    expect(keeper.reads).toHaveLength(11);
    expect(keeper.reads.every(({ names }) => names.length === 2)).toBe(true);
  });

  it('listens for a second at least, even if wakeIdleMs is 0', async () => {
    keeper = new Keeper(0);
    keeper.keep('a');
    await keeper.pass(950);
    expect(keeper.isListening).toBe(true);
    await keeper.pass(1_100);
    expect(keeper.isListening).toBe(false);
  });

  it('relies on each read for two seconds while it is far', async () => {
    const lock = await far();
    await keeper.pass(1_000);
    const atMs = keeper.reads[0]?.atMs ?? NaN;
    expect(lock.noneWaits).toHaveBeenLastCalledWith(atMs, atMs + 2_000);
  });

  it('listens again from the next use on, and reads once when the stream is open', async () => {
    const lock = await far();
    keeper.watch.used();
    expect(keeper.isListening).toBe(true);
    keeper.watch.onGap();
    await settled();
    expect(keeper.reads).toHaveLength(1);
    expect(lock.noneWaits).toHaveBeenLastCalledWith(keeper.clock.nowMs(), -Infinity);
    await keeper.pass(WAKE_IDLE_MS - 1_000);
    expect(keeper.reads).toHaveLength(1);
  });

  it('learns from a read that others wait', async () => {
    const lock = await far();
    keeper.store.set('a', { othersWait: true });
    lock.noneWaits.mockClear();
    await keeper.pass(1_000);
    expect(lock.othersWait).toHaveBeenCalledOnce();
    expect(lock.noneWaits).not.toHaveBeenCalled();
  });

  it('asks the server about a seat whose lease is gone, or is to end, and does not rely on that read', async () => {
    const lock = await far();
    for (const shown of [{ ids: [] }, { ids: ['another'] }, { ending: true }, undefined]) {
      if (shown === undefined) keeper.store.delete('a');
      else keeper.store.set('a', shown);
      keeper.confirmed.length = 0;
      lock.noneWaits.mockClear();
      await keeper.pass(1_000);
      expect(keeper.confirmed).toEqual(['a']);
      expect(lock.noneWaits).not.toHaveBeenCalled();
    }
  });

  it('goes on listening while the store does not answer its read', async () => {
    keeper.isAnswering = false;
    const lock = keeper.keep('a');
    await keeper.pass(3 * WAKE_IDLE_MS);
    expect(keeper.isListening).toBe(true);
    expect(lock.noneWaits).not.toHaveBeenCalled();
    keeper.isAnswering = true;
    await keeper.pass(1_000);
    expect(keeper.isListening).toBe(false);
  });

  it('goes on listening if a seat is used while its read is in flight', async () => {
    keeper.keep('a');
    await keeper.pass(WAKE_IDLE_MS - 50);
    keeper.clock.advance(50);
    expect(keeper.reads).toHaveLength(1);
    keeper.watch.used();
    await keeper.pass(WAKE_IDLE_MS - 1_000);
    expect(keeper.isListening).toBe(true);
  });

  it('reads once a second while it listens and no events arrive, and does not rely on these reads', async () => {
    const lock = keeper.keep('a');
    keeper.gaplessSinceMs = Infinity;
    await keeper.pass(5_000);
    expect(keeper.reads).toHaveLength(5);
    expect(lock.noneWaits.mock.calls.map(([, reliedUntilMs]) => reliedUntilMs)).toEqual(
      Array.from({ length: 5 }, () => -Infinity),
    );
  });

  it('reads again after a gap if the read in flight was sent before it', async () => {
    await far();
    keeper.watch.onGap();
    keeper.watch.onGap();
    expect(keeper.reads).toHaveLength(1);
    await settled();
    expect(keeper.reads).toHaveLength(2);
  });

  it('goes on listening if it keeps more locks than one read may ask for', async () => {
    const locks = Array.from({ length: MOST_READ + 1 }, (_, index) => keeper.keep(`lock ${String(index)}`));
    await keeper.pass(2 * WAKE_IDLE_MS);
    expect(keeper).toMatchObject({ isListening: true, reads: [] });
    keeper.watch.onGap();
    await settled();
    expect(keeper.reads.map(({ names }) => names.length)).toEqual([MOST_READ, 1]);
    for (const lock of locks.slice(0, 1)) keeper.giveBack(lock);
    await keeper.pass(1_000);
    expect(keeper.isListening).toBe(false);
  });

  it('goes on listening for as long as no events arrive', async () => {
    keeper.gaplessSinceMs = Infinity;
    const lock = keeper.keep('a');
    await keeper.pass(3 * WAKE_IDLE_MS);
    expect(keeper.isListening).toBe(true);
    expect(lock.noneWaits).not.toHaveBeenCalledWith(
      expect.anything(),
      expect.toSatisfy((ms) => ms > 0),
    );
    keeper.gaplessSinceMs = 0;
    await keeper.pass(1_000);
    expect(keeper.isListening).toBe(false);
  });

  it('reads nothing where there is no change stream, because it keeps no seat there', async () => {
    keeper.isPolling = true;
    keeper.gaplessSinceMs = Infinity;
    keeper.keep('a');
    await keeper.pass(3 * WAKE_IDLE_MS);
    expect(keeper).toMatchObject({ isListening: false, reads: [] });
  });

  it('goes on listening for keepMs after the end of its last seat, because its caller may come back', async () => {
    const lock = keeper.keep('a');
    await keeper.pass(WAKE_IDLE_MS - 1_000);
    keeper.giveBack(lock);
    await keeper.pass(KEEP_MS - 50);
    expect(keeper).toMatchObject({ isListening: true, reads: [] });
    await keeper.pass(1_000);
    expect(keeper.isListening).toBe(false);
  });

  it('has no timer left when it has no seat and has stopped listening, or is closed', async () => {
    const lock = await far();
    keeper.giveBack(lock);
    await keeper.pass(1_000);
    expect(keeper.clock.alarms).toBe(0);
    const next = keeper.keep('b');
    keeper.giveBack(next);
    await keeper.pass(KEEP_MS + 1_000);
    expect(keeper).toMatchObject({ isListening: false, clock: { alarms: 0 } });
    keeper.keep('c');
    keeper.watch.close();
    expect(keeper.clock.alarms).toBe(0);
  });
});
