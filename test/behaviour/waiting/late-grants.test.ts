import { describe, expect, it } from 'vitest';

import { momentNow } from '../../../src/clock.js';
import { AcquireTimeoutError } from '../../../src/errors.js';
import type { LeaseContext } from '../../../src/lease/acquiring/lease-context.js';
import { Acquisition } from '../../../src/lease/acquiring/acquisition.js';
import type { Grant } from '../../../src/lease/holding/grant.js';
import { WaitingRoom } from '../../../src/lease/waiting/waiting-room.js';
import { leaseDurations, parseProviderOptions } from '../../../src/options/provider-options.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import type { Operation } from '../../../src/protocol/operation.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import type { Combiner } from '../../../src/store/updates/combiner.js';
import type { Outcome } from '../../../src/store/outcome.js';
import type { Answer } from '../../../src/store/updates/combiner.js';
import { CANCEL_GRACE_MS } from '../../../src/scope.js';
import { later, rejection, settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const TIMEOUT_MS = 5_000;
const SETTINGS = parseProviderOptions({});
const TERMS = leaseDurations(SETTINGS, 30_000);

const EMPTY: Reply = {
  ...{ nowMs: 0, kind: 'mutex', isWellFormed: true, fence: 1, wake: [], leases: [], leaseCount: 0 },
  ...{ limit: undefined, places: [], waiters: 0, ownWaiters: undefined },
  ...{ isWriterWaiting: false, earliestExpiryMs: null },
};

/** One request for a mutex. The test is its server. */
class World {
  readonly clock = new ManualClock();
  readonly givenBack: string[] = [];
  readonly room: WaitingRoom;
  readonly acquisition: Acquisition;
  /** The id of the attempt. */
  id = '';
  /** The operations that have no answer so far, by their type. */
  readonly #sent = new Map<string, (outcome: Outcome<Answer>) => void>();

  constructor() {
    const { clock } = this;
    const combiner = {
      submit: (_name: string, _seats: unknown, operation: { type: string; id?: string }) => {
        this.id ||= operation.id ?? '';
        const outcome = new Promise((resolve) => this.#sent.set(operation.type, resolve));
        return { outcome, withdraw: () => false };
      },
    } as unknown as Combiner;
    this.room = new WaitingRoom(combiner, 'p', 10_000, clock, {
      onUnclaimed: (_name, _seats, id) => this.givenBack.push(id),
      onAskedToConfirm: () => undefined,
      onOthersWait: () => undefined,
      onGap: () => undefined,
      onCollectionGone: () => undefined,
    });
    this.room.connect(
      { gaplessSinceMs: 0, isPolling: false, listen: () => undefined },
      { hurry: () => undefined },
    );
    const serverClock = { nowMs: () => 0, toLocalMs: (ms: number) => ms, aheadByMs: 0 };
    const collection = { serverClock, isServerKnown: true, unanswered: () => new Error('no answer') };
    const context = {
      ...{ settings: SETTINGS, process: 'p', clock, report: () => undefined, collection, combiner },
      ...{ room: this.room, makeWay: () => undefined, closing: new AbortController().signal },
      observation: { isOn: false, keepsTraces: false },
      releases: { giveBack: ({ id }: { id: string }) => this.givenBack.push(id) },
    } as unknown as LeaseContext;
    this.acquisition = new Acquisition(context, {
      ...{ name: 'm', rules: mutexRules, demand: () => ({}), durations: TERMS, timeoutMs: TIMEOUT_MS },
      ...{ startedMs: clock.nowMs(), isNestedWithoutBound: false, why: undefined, signal: undefined },
    });
  }

  /** Answers the operation of this type, and shows the answer to the waiting room first, as the combiner does. */
  async answer(type: Operation['type'], shown: Partial<Reply>): Promise<void> {
    const sentAt = momentNow(this.clock);
    const reply = { ...EMPTY, ...shown };
    const answer: Answer = { wake: [], reply, nowMs: reply.nowMs, isSecondCopy: false };
    this.room.answered('m', answer, sentAt);
    this.#sent.get(type)?.({ type: 'done', value: answer, sentAt });
    await settled();
  }
}

const placeOf = (id: string): Partial<Reply> => ({
  places: [{ id, expiresAt: new Date(TERMS.leaseMs), place: 0 }],
  waiters: 1,
});

const leaseOf = (id: string, leftMs = TERMS.leaseMs): Partial<Reply> => ({
  leases: [
    {
      ...{ id, process: 'p', token: 2, leaseMs: TERMS.leaseMs },
      ...{ acquiredAt: new Date(leftMs - TERMS.leaseMs), expiresAt: new Date(leftMs) },
    },
  ],
  leaseCount: 1,
});

/** Less than a third of the lease. */
const LITTLE_MS = 8_000;

/** A request whose time is up, and whose cancel finds a seat with little of its lease left. */
async function lateForItsGrant(): Promise<{ readonly world: World; readonly acquired: Promise<Grant> }> {
  const world = new World();
  const acquired = later(world.acquisition.run());
  await settled();
  await world.answer('enqueue', placeOf(world.id));
  world.clock.advance(TIMEOUT_MS);
  await settled();
  await world.answer('cancel', leaseOf(world.id, LITTLE_MS));
  return { world, acquired };
}

it('a grant that comes after its place has lapsed is given back, and not returned by a wait whose time is up', async () => {
  const world = new World();
  const acquired = later(world.acquisition.run());
  await settled();
  const { id } = world;
  await world.answer('enqueue', placeOf(id));
  world.room.onGap();
  world.clock.advance(TIMEOUT_MS);
  await settled();
  // The document was deleted.
  await world.answer('extend', {});
  // A late copy of the request has made the document anew.
  await world.answer('cancel', leaseOf(id));
  expect(world.givenBack).toContain(id);
  expect(await rejection(acquired)).toBeInstanceOf(AcquireTimeoutError);
});

it('a grant that comes before the cancel is returned, although the time is up', async () => {
  const world = new World();
  const acquired = later(world.acquisition.run());
  await settled();
  const { id } = world;
  await world.answer('enqueue', placeOf(id));
  world.clock.advance(TIMEOUT_MS);
  await settled();
  await world.answer('cancel', leaseOf(id));
  expect(await acquired).toMatchObject({ id, token: 2 });
  expect(world.givenBack).toEqual([]);
});

describe('a grant that comes before the cancel, and of whose lease little is left,', () => {
  it('is extended before it is returned (E7)', async () => {
    const { world, acquired } = await lateForItsGrant();
    const extendedMs = world.clock.nowMs();
    await world.answer('extend', leaseOf(world.id));
    const { deadline } = await acquired;
    expect(deadline.ms - extendedMs).toBe(TERMS.leaseMs - TERMS.clockAllowanceMs);
    expect(world.givenBack).toEqual([]);
  });

  it('is returned as it is if its extension gets no answer in the time for the cancel', async () => {
    const { world, acquired } = await lateForItsGrant();
    const cancelledMs = world.clock.nowMs();
    world.clock.advance(CANCEL_GRACE_MS);
    const { deadline } = await acquired;
    expect(deadline.ms - cancelledMs).toBe(LITTLE_MS - TERMS.clockAllowanceMs);
    expect(world.givenBack).toEqual([]);
  });

  it('is no grant if its extension finds the lease gone', async () => {
    const { world, acquired } = await lateForItsGrant();
    await world.answer('extend', {});
    expect(await rejection(acquired)).toBeInstanceOf(AcquireTimeoutError);
  });
});
