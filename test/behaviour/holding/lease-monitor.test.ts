import { describe, expect, it } from 'vitest';
import { after, momentNow, systemClock } from '../../../src/clock.js';
import type { Clock, Timer } from '../../../src/clock.js';
import type { Answers, Confirmation } from '../../../src/lease/holding/lease-extender.js';
import { LeaseMonitor } from '../../../src/lease/holding/lease-monitor.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { settled } from '../../../lab/patience.js';

const LEASE_MS = 30_000;
const PERIOD_MS = LEASE_MS / 3;
const TERMS = { leaseMs: LEASE_MS, extendEveryMs: PERIOD_MS, clockAllowanceMs: 1_000, retentionMs: 60_000 };

/** Stands still until it is moved, and counts how often it is asked: what is done for each of many holds asks it. */
class CountingClock implements Clock {
  readonly chance = systemClock.chance;
  asked = 0;
  #nowMs = 1_000;
  readonly #alarms = new Set<{ readonly atMs: number; readonly fire: () => void }>();

  afterTurn(fire: () => void): Timer {
    return systemClock.afterTurn(fire);
  }

  atEndOfTurn(fire: () => void): void {
    systemClock.atEndOfTurn(fire);
  }

  nowMs(): number {
    this.asked += 1;
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  at(atMs: number, fire: () => void): Timer {
    const alarm = { atMs, fire };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const alarm of [...this.#alarms].filter(({ atMs }) => atMs <= this.#nowMs)) {
      if (this.#alarms.delete(alarm)) alarm.fire();
    }
    await settled();
  }
}

interface Batch {
  readonly names: readonly string[];
  readonly seats: readonly Seat[];
  answer(type: Confirmation['type'], isRefused?: boolean): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A monitor whose batches are answered by hand. */
function monitored(): {
  readonly clock: CountingClock;
  readonly monitor: LeaseMonitor;
  readonly batches: Batch[];
  readonly seat: (name: string, extendEveryMs?: number) => Seat;
} {
  const clock = new CountingClock();
  const batches: Batch[] = [];
  const extender = {
    extend: (names: readonly string[], seats: readonly Seat[]): Promise<Answers> => {
      const sentAt = momentNow(clock);
      return new Promise((resolve, reject) => {
        const fail = async (error: Error): Promise<void> => {
          reject(error);
          await settled();
        };
        const answer = async (type: Confirmation['type'], isRefused = false): Promise<void> => {
          const confirmation: Confirmation =
            type === 'unknown' ? { type, error: new Error('away') } : { type };
          if (type === 'extended') for (const seat of seats) seat.extendTo(after(sentAt, LEASE_MS - 1_000));
          resolve({ confirmations: seats.map(() => confirmation), isRefused });
          await settled();
        };
        batches.push({ names, seats, answer, fail });
      });
    },
  };
  const monitor = new LeaseMonitor(extender, parseProviderOptions({}), clock);
  const owner = {
    lost: (seat: Seat) => {
      monitor.remove(seat);
    },
    doubtful: () => undefined,
  };
  let ids = 0;
  const seat = (name: string, extendEveryMs = PERIOD_MS): Seat => {
    const durations = { ...TERMS, extendEveryMs };
    const deadline = after(momentNow(clock), LEASE_MS - 1_000);
    const id = `w${String((ids += 1))}`;
    const added = new Seat(
      { name, rules: mutexRules, id, token: 1, durations, demand: {}, deadline },
      clock,
      owner,
    );
    monitor.add(added);
    return added;
  };
  return { clock, monitor, batches, seat };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${String(index)}`);

describe('the lease monitor', () => {
  it('extends a seat again although the code that handled an answer has thrown', async () => {
    const { clock, monitor, batches, seat } = monitored();
    const held = seat('a');
    const confirmed = monitor.confirm(held);
    await clock.advance(0);
    await batches.shift()?.fail(new Error('thrown'));
    expect(await confirmed).toMatchObject({ type: 'unknown', error: { message: 'thrown' } });
    await clock.advance(PERIOD_MS);
    expect(batches.map((batch) => batch.names)).toEqual([['a']]);
    await batches.shift()?.answer('extended');
    expect(held.standing().remainingMs).toBe(LEASE_MS - 1_000);
  });

  it('does a bounded amount of work for each of ten thousand holds', async () => {
    const { clock, batches, seat } = monitored();
    const seats = names(10_000).map((name) => seat(name));
    clock.asked = 0;
    await clock.advance(PERIOD_MS);
    const seen = new Set<Seat>();
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      expect(batch.names.length).toBeLessThanOrEqual(256);
      for (const each of batch.seats) seen.add(each);
      await batch.answer('extended');
    }
    expect(seen.size).toBe(seats.length);
    expect(clock.asked / seats.length).toBeLessThan(20);
  });

  it('combines all confirmations of one turn of the event loop into one batch', async () => {
    const { monitor, batches, seat } = monitored();
    const seats = names(200).map(() => seat('one semaphore'));
    const confirmed = Promise.all(seats.map((each) => monitor.confirm(each)));
    await settled();
    expect(batches.map((batch) => batch.seats.length)).toEqual([200]);
    await batches[0]?.answer('extended');
    expect(new Set((await confirmed).map(({ type }) => type))).toEqual(new Set(['extended']));
    expect(batches).toHaveLength(1);
  });

  it('adds nearly due leases to a due extension, and not to a confirmation', async () => {
    const { clock, monitor, batches, seat } = monitored();
    const [one, other] = [seat('a'), seat('b')];
    await clock.advance(PERIOD_MS * 0.6);
    const asked = monitor.confirm(one);
    await settled();
    expect(batches.map((batch) => batch.names)).toEqual([['a']]);
    await batches.shift()?.answer('extended');
    await asked;
    await clock.advance(PERIOD_MS * 0.4);
    expect(batches.map((batch) => batch.names)).toEqual([[other.name]]);
    await batches.shift()?.answer('extended');
    await clock.advance(PERIOD_MS * 0.6);
    // The first is due, and the other comes along.
    expect(batches.map((batch) => batch.names)).toEqual([['a', 'b']]);
  });

  it('confirms a hold by a batch that was sent after the call', async () => {
    const { monitor, batches, seat } = monitored();
    const asked = seat('a');
    const answers: string[] = [];
    void monitor.confirm(asked).then(({ type }) => answers.push(`first ${type}`));
    await settled();
    void monitor.confirm(asked).then(({ type }) => answers.push(`second ${type}`));
    await settled();
    expect(batches).toHaveLength(1);
    await batches[0]?.answer('extended');
    expect(answers).toEqual(['first extended']);
    expect(batches).toHaveLength(2);
    await batches[1]?.answer('unknown');
    expect(answers).toEqual(['first extended', 'second unknown']);
  });

  it('never has one document in two batches at once, and does not delay other documents behind a stuck one (E17)', async () => {
    const { clock, monitor, batches, seat } = monitored();
    const [first, second, elsewhere] = [seat('a'), seat('a'), seat('b')];
    void monitor.confirm(first);
    await settled();
    void monitor.confirm(second);
    void monitor.confirm(elsewhere);
    await settled();
    expect(batches.map((batch) => batch.names)).toEqual([['a']]);
    await clock.advance(200);
    expect(batches.map((batch) => batch.names)).toEqual([['a'], ['b']]);
    await batches[0]?.answer('unknown');
    await clock.advance(200);
    const ids = batches.map((batch) => batch.seats.map(({ id }) => id));
    expect(ids).toEqual([[first.id], [elsewhere.id], [second.id]]);
  });

  it('extends at most 2,048 leases of one document at a time', async () => {
    const { clock, batches, seat } = monitored();
    const seats = names(5_000).map(() => seat('one semaphore'));
    await clock.advance(PERIOD_MS);
    const sizes: number[] = [];
    const seen = new Set<Seat>();
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      sizes.push(batch.seats.length);
      for (const each of batch.seats) seen.add(each);
      await batch.answer('extended');
    }
    expect(sizes).toEqual([2_048, 2_048, 904]);
    expect(seen.size).toBe(seats.length);
  });

  it('halves a batch that the server refuses, but not one without an answer', async () => {
    const { clock, batches, seat } = monitored();
    for (const name of names(100)) seat(name);
    await clock.advance(PERIOD_MS);
    for (const isRefused of [false, true]) {
      expect(batches.map((batch) => batch.names.length)).toEqual([100]);
      await batches.shift()?.answer('unknown', isRefused);
      await clock.advance(600);
    }
    expect(batches.map((batch) => batch.names.length)).toEqual([50]);
  });

  it('extends a due lease in time while other holds are confirmed again and again', async () => {
    const { clock, monitor, batches, seat } = monitored();
    const asked = names(600).map((name) => seat(name, 2 * PERIOD_MS));
    const quiet = seat('quiet');
    const extended: Seat[] = [];
    for (let round = 0; round < 200 && !extended.includes(quiet); round += 1) {
      for (const each of asked) void monitor.confirm(each);
      await clock.advance(PERIOD_MS / 100);
      const batch = batches.shift();
      extended.push(...(batch?.seats ?? []));
      await batch?.answer('extended');
    }
    expect(extended).toContain(quiet);
    expect(quiet.isOpen).toBe(true);
  });

  it('answers pending confirmations when the hold ends, and when the monitor closes', async () => {
    const { monitor, batches, seat } = monitored();
    const [released, left] = [seat('a'), seat('b')];
    const answers = [monitor.confirm(released), monitor.confirm(left)];
    monitor.remove(released);
    monitor.close();
    expect(await Promise.all(answers)).toEqual([{ type: 'lost' }, { type: 'lost' }]);
    expect(await monitor.confirm(left)).toEqual({ type: 'lost' });
    await settled();
    expect(batches).toEqual([]);
  });
});
