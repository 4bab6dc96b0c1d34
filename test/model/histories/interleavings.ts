import type { Lease, Waiter } from '../../../src/protocol/lock-document.js';
import { judge } from '../../judge/invariants.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import { omit } from '../reference/model-draft.js';
import { toStored } from '../reference/model-views.js';
import { settle } from './planned-operation.js';
import type { Event } from './planned-operation.js';
import { transition } from '../reference/reference-model.js';
import type { Stored } from '../reference/reference-model.js';
import type { ModelKind } from '../reference/model-kind.js';
import type { ModelDocument } from '../reference/model-document.js';

/** The events of one client, in their order. */
export type Script = readonly Event[];

/** The time of a step: much less than a lease, so that nothing expires without a lapse event. */
const STEP_MS = 1;
const START_MS = Date.UTC(2030, 0, 1);

interface State {
  readonly model: Stored;
  readonly version: Version;
  readonly lastToken: number;
}

/** The size of an exploration. */
export interface Exploration {
  /** The number of interleavings, of which many lead through the same states. */
  readonly schedules: number;
  /** The number of different states. Every step from each of them is judged. */
  readonly states: number;
}

/**
 * Plays every interleaving of these clients on the reference model and judges every step of it.
 *
 * Interleavings that reach the same state continue together: they have done the same steps, and have the same leases in
 * the same seats and the same queue. Their tokens and times may differ, but nothing later depends on these: the clock
 * alone makes every next token the highest, and nothing expires without a lapse event.
 */
export function explore(kind: ModelKind, clients: readonly Script[]): Exploration {
  const schedulesFrom = new Map<string, number>();
  const go = (positions: readonly number[], state: State): number => {
    const key = keyOf(positions, state.model);
    const known = schedulesFrom.get(key);
    if (known !== undefined) return known;
    const steps = positions.reduce((sum, position) => sum + position, 0);
    const nowMs = START_MS + steps * STEP_MS;
    let schedules = 0;
    for (const [client, script] of clients.entries()) {
      const position = positions[client] ?? 0;
      const event = script[position];
      if (event === undefined) continue;
      schedules += go(positions.with(client, position + 1), step(kind, state, event, nowMs));
    }
    if (clients.every((script, client) => positions[client] === script.length)) {
      assertEmpty(kind, state.model, nowMs);
      schedules = 1;
    }
    schedulesFrom.set(key, schedules);
    return schedules;
  };
  const schedules = go(
    clients.map(() => 0),
    stateOf(kind, { type: 'missing' }, 0),
  );
  return { schedules, states: schedulesFrom.size };
}

/** One interleaving of these clients. `draw` gives a number from 0 to below its argument. */
export function drawSchedule(clients: readonly Script[], draw: (below: number) => number): readonly Event[] {
  const rests = clients.map((script) => [...script]);
  const schedule: Event[] = [];
  for (;;) {
    const busy = rests.filter((rest) => rest.length > 0);
    const event = busy[draw(busy.length)]?.shift();
    if (event === undefined) return schedule;
    schedule.push(event);
  }
}

function keyOf(positions: readonly number[], model: Stored): string {
  if (model.type !== 'lock') return JSON.stringify([positions, model.type]);
  const { leases, queue, limit } = model.document;
  const isOver = ({ expiresAt }: Lease | Waiter): boolean => expiresAt.getTime() < START_MS;
  const isSilent = ({ expiresAt, transitionMs = 0 }: Lease): boolean =>
    expiresAt.getTime() - transitionMs < START_MS;
  const seats = leases.map((lease) => [
    omit(lease, 'token', 'acquiredAt', 'expiresAt'),
    isOver(lease),
    isSilent(lease),
  ]);
  const places = queue.map(({ id, waiter }) => [id, omit(waiter, 'since', 'expiresAt'), isOver(waiter)]);
  return JSON.stringify([positions, limit, seats, places]);
}

const stateOf = (kind: ModelKind, model: Stored, lastToken: number): State => ({
  ...{ model, version: versionIn(kind, model), lastToken },
});

function step(kind: ModelKind, state: State, event: Event, nowMs: number): State {
  const { model, version: before, lastToken } = state;
  if (event.type === 'lapse') return stateOf(kind, lapsed(model, event), lastToken);
  if (event.type !== 'update') throw new Error(`no client does ${event.type}`);
  const knowledge = {
    nowMs,
    resolve: (target: string) => target,
    lastChangeOf: () => 0,
    tokenOf: (id: string) => leasesOf(model).find((lease) => lease.id === id)?.token ?? 1,
    lastClaimOf: () => null,
    lastRunOf: () => null,
    lastCallOf: () => 0,
  };
  const operations = event.operations.map((planned) => settle(planned, knowledge));
  const next = stateOf(kind, transition(kind, model, operations, nowMs).after, lastToken);
  return { ...next, lastToken: judge({ before, operations, nowMs, after: next.version }, lastToken) };
}

/** Ends the lease or the place of an attempt. `silent` leaves a leader its transition. */
function lapsed(model: Stored, { target: id, when }: Extract<Event, { type: 'lapse' }>): Stored {
  if (model.type !== 'lock') return model;
  const expiresAt = new Date(START_MS - 1);
  const { document } = model;
  if (when === 'silent') {
    const silent = (lease: Lease): Lease => ({
      ...lease,
      expiresAt: new Date(expiresAt.getTime() + (lease.transitionMs ?? 0)),
    });
    const leases = document.leases.map((lease) => (lease.id === id ? silent(lease) : lease));
    return { type: 'lock', document: { ...document, leases } };
  }
  const change: Partial<ModelDocument> = {
    leases: document.leases.map((lease) => (lease.id === id ? { ...lease, expiresAt } : lease)),
    queue: document.queue.map((queued) =>
      queued.id === id ? { id, waiter: { ...queued.waiter, expiresAt } } : queued,
    ),
  };
  return { type: 'lock', document: { ...document, ...change } };
}

const leasesOf = (model: Stored): readonly Lease[] => (model.type === 'lock' ? model.document.leases : []);

const versionIn = (kind: ModelKind, model: Stored): Version =>
  versionOf(model.type === 'lock' ? toStored(kind, 'm', model.document) : null);

/** L1, as far as a document shows it: after all clients have released, cancelled or lapsed, an update empties it. */
function assertEmpty(kind: ModelKind, model: Stored, nowMs: number): void {
  const { leases, queue } = versionIn(kind, transition(kind, model, [], nowMs).after);
  if (leases.length + queue.length > 0) throw new Error('L1: a lease or a place is left');
}
