import { describe, expect, it, vi } from 'vitest';
import { momentNow } from '../../../src/clock.js';
import type { Wait } from '../../../src/lease/waiting/wait.js';
import { Poller } from '../../../src/lease/waiting/poller.js';
import { WaitingRoom } from '../../../src/lease/waiting/waiting-room.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import type { Combiner } from '../../../src/store/updates/combiner.js';
import type { LockCollection } from '../../../src/store/lock-collection.js';
import { ServerClock } from '../../../src/store/server-clock.js';
import { ManualClock } from '../../support/manual-clock.js';

const LEASE_MS = 600_000;
const TERMS = { leaseMs: LEASE_MS, extendEveryMs: 200_000, clockAllowanceMs: 1_000, retentionMs: 1_200_000 };

/** What a read shows of one lock: the attempts of this process, and the place of the first of them. */
interface Shown {
  readonly waiting: readonly string[];
  readonly place: number;
  readonly waiters: number;
  /** Rises with every grant. */
  readonly fence?: number;
  readonly seated?: { readonly id: string; readonly token: number };
}

/** A waiting process with a manual clock, and with a store that shows what the test has set. */
class WaitingProcess {
  readonly clock = new ManualClock();
  readonly store = new Map<string, Shown>();
  readonly reads: { readonly names: readonly string[]; readonly atMs: number; readonly level: string }[] = [];
  readonly looks: string[] = [];
  isListening = false;
  isPolling = false;
  isAnswering = true;
  readonly room: WaitingRoom;
  readonly poller: Poller;

  constructor(wakeIdleMs = 10_000) {
    const { clock } = this;
    const submit = (name: string) => {
      this.looks.push(name);
      return { outcome: new Promise(() => undefined), withdraw: () => false };
    };
    const outside = {
      onUnclaimed: vi.fn(),
      onAskedToConfirm: vi.fn(),
      onOthersWait: vi.fn(),
      onGap: vi.fn(),
      onCollectionGone: vi.fn(),
    };
    const combiner = { submit } as unknown as Combiner;
    this.room = new WaitingRoom(combiner, 'p', wakeIdleMs, clock, outside);
    const collection = {
      serverClock: new ServerClock(clock),
      read: (names: readonly string[], _projection: unknown, level: string) => this.#read(names, level),
    } as unknown as LockCollection;
    collection.serverClock.learn(this.#serverMs, clock.nowMs());
    this.poller = new Poller(collection, [mutexRules], 'p', parseProviderOptions(), clock, this.room);
    const isPolling = () => this.isPolling;
    const listen = (isListening: boolean) => {
      this.isListening = isListening;
    };
    const wakeups = {
      gaplessSinceMs: 0,
      listen,
      get isPolling() {
        return isPolling();
      },
    };
    this.room.connect(wakeups, this.poller);
  }

  get #serverMs(): number {
    return this.clock.wallMs() + 500;
  }

  /** How long after a full second of the server each read was sent. */
  get readPhasesMs(): readonly number[] {
    return this.reads.map(({ atMs }) => (atMs - this.clock.nowMs() + this.#serverMs) % 1_000);
  }

  /** Queues this attempt at this place. */
  queue(id: string, place: number, waiters: number, name = 'a') {
    const { clock } = this;
    const wait = {
      name,
      rules: mutexRules,
      id,
      durations: TERMS,
      hasLease: false,
      granted: vi.fn<Wait['granted']>(),
      lapsed: vi.fn<Wait['lapsed']>(),
      failed: vi.fn<Wait['failed']>(),
      placed: vi.fn<Wait['placed']>(),
    };
    const expiresAt = new Date(this.#serverMs + LEASE_MS);
    const reply = { nowMs: this.#serverMs, fence: 50, waiters, earliestExpiryMs: null } as Reply;
    this.room.enter(wait);
    this.room.queued(wait, { id, expiresAt, place }, reply, momentNow(clock));
    this.store.set(name, { waiting: [id], place, waiters });
    return wait;
  }

  /** Moves the clock, and lets pending answers arrive. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 50) {
      this.clock.advance(Math.min(left, 50));
      await new Promise(setImmediate);
    }
  }

  #read(names: readonly string[], level: string): Promise<unknown> {
    const sentAt = momentNow(this.clock);
    this.reads.push({ names, atMs: sentAt.ms, level });
    if (!this.isAnswering) return Promise.resolve({ type: 'unknown', error: new Error('no answer') });
    const now = new Date(this.#serverMs);
    const value = names.flatMap((_id) => {
      const shown = this.store.get(_id);
      if (shown === undefined) return [];
      const { fence = 50 } = shown;
      return [{ _id, fence, now, leases: leasesOf(shown, now), queue: shown }];
    });
    return Promise.resolve({ type: 'done', value, sentAt });
  }
}

function leasesOf({ seated }: Shown, now: Date): readonly unknown[] {
  if (seated === undefined) return [];
  const expiresAt = new Date(now.getTime() + LEASE_MS);
  return [{ ...seated, process: 'p', leaseMs: LEASE_MS, acquiredAt: now, expiresAt }];
}

/** A process at place 5 of a queue of ten, which has closed its stream. */
async function far(): Promise<WaitingProcess> {
  const process = new WaitingProcess();
  process.queue('w1', 5, 10);
  await process.pass(11_050);
  expect(process.isListening).toBe(false);
  process.reads.length = 0;
  return process;
}

describe('a process that waits behind others in a queue', () => {
  it('listens, and reads nothing, until the queue has been quiet for wakeIdleMs', async () => {
    const process = new WaitingProcess();
    process.queue('w1', 5, 10);
    await process.pass(9_950);
    expect(process).toMatchObject({ isListening: true, reads: [] });
  });

  it('goes on listening until a read has confirmed that the queue is quiet', async () => {
    const process = new WaitingProcess();
    process.queue('w1', 5, 10);
    process.isAnswering = false;
    await process.pass(15_000);
    expect(process.reads.length).toBeGreaterThan(1);
    expect(process.isListening).toBe(true);
    process.isAnswering = true;
    await process.pass(1_050);
    expect(process.isListening).toBe(false);
  });

  it('keeps its stream open if the first read shows that the queue has moved', async () => {
    const process = new WaitingProcess();
    process.queue('w1', 5, 10);
    process.store.set('a', { waiting: ['w1'], place: 4, waiters: 10 });
    await process.pass(19_000);
    expect(process).toMatchObject({ isListening: true, reads: [{ names: ['a'] }] });
  });

  it('reads once a second, at the time that belongs to its place', async () => {
    const process = await far();
    await process.pass(20_000);
    expect(process.reads.length).toBe(20);
    expect(new Set(process.reads.map(({ level }) => level))).toEqual(new Set(['local']));
    // The clock is moved by fifty milliseconds at a time.
    for (const phaseMs of process.readPhasesMs) expect(Math.abs(phaseMs - 40)).toBeLessThanOrEqual(50);
    expect(process.isListening).toBe(false);
  });

  it('reads 300 awaited locks by two commands a second, however long their queues are', async () => {
    const process = await far();
    for (let lock = 0; lock < 299; lock += 1) process.queue(`v${lock}`, 9, 10, `lock ${lock}`);
    await process.pass(11_050);
    process.reads.length = 0;
    await process.pass(10_000);
    expect(process.reads.map(({ names }) => names.length)).toEqual(Array(10).fill([256, 44]).flat());
  });

  it('listens again as soon as a read shows that it has moved up', async () => {
    const process = await far();
    process.store.set('a', { waiting: ['w1'], place: 4, waiters: 9, fence: 51 });
    await process.pass(1_050);
    expect(process.isListening).toBe(true);
    const { length } = process.reads;
    await process.pass(9_000);
    expect(process).toMatchObject({ isListening: true, reads: { length } });
  });

  it('reads its place with read concern majority only after a local read has shown a change', async () => {
    const process = await far();
    await process.pass(5_000);
    process.store.set('a', { waiting: ['w1'], place: 5, waiters: 10, fence: 51 });
    await process.pass(3_000);
    const levels = process.reads.map(({ level }) => level);
    expect(levels).toEqual([...Array<string>(6).fill('local'), 'majority', 'local', 'local']);
  });

  it('listens, and reads nothing, for as long as it is the head', async () => {
    const process = await far();
    process.store.set('a', { waiting: ['w1'], place: 0, waiters: 5, fence: 51 });
    await process.pass(1_050);
    const { length } = process.reads;
    await process.pass(60_000);
    expect(process).toMatchObject({ isListening: true, reads: { length } });
  });

  it('takes its grant from a read', async () => {
    const process = new WaitingProcess();
    const wait = process.queue('w1', 1, 2);
    await process.pass(11_050);
    const seated = { id: 'w1', token: 51 };
    process.store.set('a', { waiting: [], place: -1, waiters: 0, fence: 51, seated });
    await process.pass(1_050);
    expect(wait.granted).toHaveBeenCalledExactlyOnceWith(51, expect.anything());
  });

  it.each([
    ['its attempt in neither queue nor seats', { waiting: [], place: -1, waiters: 0, fence: 51 }],
    ['no document', undefined],
  ])('sends a look when a read finds %s', async (_words, shown) => {
    const process = await far();
    if (shown === undefined) process.store.delete('a');
    else process.store.set('a', shown);
    await process.pass(1_050);
    expect(process.looks).toEqual(['a']);
  });

  it('ignores a larger place in a read, because the read may be old', async () => {
    const process = await far();
    process.store.set('a', { waiting: ['w1'], place: 9, waiters: 10 });
    await process.pass(3_000);
    process.store.set('a', { waiting: ['w1'], place: 5, waiters: 10 });
    await process.pass(3_000);
    expect(process).toMatchObject({ isListening: false, reads: { length: 6 }, looks: [] });
  });

  it('listens for all its waits, and reads none of them, while a new wait is near', async () => {
    const process = await far();
    process.queue('w2', 3, 4, 'b');
    expect(process.isListening).toBe(true);
    await process.pass(9_950);
    expect(process).toMatchObject({ isListening: true, reads: [] });
  });

  it('polls where there are no change streams', async () => {
    const process = new WaitingProcess();
    process.isPolling = true;
    process.queue('w1', 5, 10);
    await process.pass(30_000);
    // Pauses of 800 ms and less.
    expect(process.reads.length).toBeGreaterThan(37);
  });

  it.each([
    ['its last wait ends', ({ room }: WaitingProcess, wait: Wait) => (room.leave(wait, true), undefined)],
    ['it is closed', ({ room, poller }: WaitingProcess) => (poller.close(), room.close(), undefined)],
  ])('leaves no timer behind when %s (R1)', async (_words, end) => {
    for (const quietMs of [0, 5_000, 10_010, 11_050, 12_000]) {
      const process = new WaitingProcess();
      const wait = process.queue('w1', 5, 10);
      await process.pass(quietMs);
      expect(process.clock.alarms).toBeGreaterThan(0);
      end(process, wait);
      expect(process.clock.alarms).toBe(0);
    }
  });
});
