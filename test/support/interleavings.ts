import type { Lease } from '../../src/protocol/lock-document.js';
import type { Operation } from '../../src/protocol/transition.js';
import { judge, versionOf } from './invariants.js';
import { toStored } from './model-views.js';
import { mutexModel } from './mutex-model.js';
import { settle } from './random-updates.js';
import type { Event } from './random-updates.js';
import { transition } from './reference-model.js';
import type { Stored } from './reference-model.js';

type Model = Stored<readonly Lease[]>;

/** What one client does, in its own order. It asks under `w<client>`, and again under `w<client + 3>`. */
export type Script = (client: number) => readonly Event[];

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
/** What a step takes: much less than a lease, so that only who lapses lapses. */
const STEP_MS = 1;
const START_MS = Date.UTC(2030, 0, 1);

type Request = 'enqueue' | 'try';

const update = (client: number, operations: Extract<Event, { type: 'update' }>['operations']): Event => ({
  type: 'update',
  process: `p${client}`,
  operations,
  adopting: false,
});

const ask = (type: Request, client: number, id: string, notAfterMs = DAY_MS): Event =>
  update(client, [
    { type, target: id, leaseMs: LEASE_MS, notAfterMs, maxMembers: 99, retentionMs: 7 * DAY_MS },
  ]);

const enqueue = (client: number, id = `w${client}`): Event => ask('enqueue', client, id);
const cancel = (client: number): Event => update(client, [{ type: 'cancel', target: `w${client}` }]);
const leave = (client: number, id = `w${client}`): Event => update(client, [{ type: 'leave', target: id }]);
const lapse = (client: number): Event => ({ type: 'lapse', target: `w${client}`, when: 'past' });
const extend = (client: number): Event =>
  update(client, [{ type: 'extend', targets: [`w${client}`], leaseMs: LEASE_MS, retentionMs: DAY_MS }]);

/** Every client ends with nothing: what it does last gives back, cancels, or lapses. */
export const SCRIPTS: Readonly<Record<string, Script>> = {
  'takes and gives back': (client) => [enqueue(client), leave(client)],
  'asks twice': (client) => [enqueue(client), enqueue(client), leave(client)],
  'takes it if it is free': (client) => [ask('try', client, `w${client}`), extend(client), leave(client)],
  'gives up waiting, or got it': (client) => [enqueue(client), cancel(client), leave(client)],
  'dies, and is heard once more': (client) => [enqueue(client), lapse(client), leave(client)],
  'lapses and comes back': (client) => [
    enqueue(client),
    lapse(client),
    enqueue(client, `w${client + 3}`),
    leave(client, `w${client + 3}`),
  ],
  'is asked for late, after it gave up': (client) => [
    enqueue(client),
    leave(client),
    ask('enqueue', client, `w${client}`, -1),
  ],
};

interface State {
  readonly model: Model;
  readonly lastToken: number;
}

/** How much there was to look at. */
export interface Exploration {
  schedules: number;
  states: number;
}

/**
 * Plays every interleaving of these clients on the reference model and judges every step of it.
 *
 * @param visit - Given every complete schedule.
 */
export function explore(
  clients: readonly (readonly Event[])[],
  visit: (schedule: readonly Event[]) => void,
): Exploration {
  const explored: Exploration = { schedules: 0, states: 0 };
  const go = (positions: readonly number[], schedule: readonly Event[], state: State): void => {
    explored.states += 1;
    let isOver = true;
    for (const [client, script] of clients.entries()) {
      const event = script[positions[client] ?? 0];
      if (event === undefined) continue;
      isOver = false;
      const next = positions.with(client, (positions[client] ?? 0) + 1);
      go(next, [...schedule, event], step(state, event, START_MS + schedule.length * STEP_MS));
    }
    if (!isOver) return;
    explored.schedules += 1;
    nobodyIsLeft(state.model, START_MS + schedule.length * STEP_MS);
    visit(schedule);
  };
  const start: State = { model: { type: 'missing' }, lastToken: 0 };
  go(
    clients.map(() => 0),
    [],
    start,
  );
  return explored;
}

function step({ model, lastToken }: State, event: Event, nowMs: number): State {
  if (event.type === 'lapse') return { model: lapsed(model, event.target, nowMs), lastToken };
  if (event.type !== 'update') throw new Error(`no client does ${event.type}`);
  const operations: readonly Operation[] = event.operations.map((planned) =>
    settle(planned, nowMs, (target) => target),
  );
  const { after } = transition(mutexModel, model, operations, nowMs);
  const before = versionOf(storedOf(model));
  const judged = judge({ before, operations, nowMs, after: versionOf(storedOf(after)) }, lastToken);
  return { model: after, lastToken: judged };
}

function lapsed(model: Model, id: string, nowMs: number): Model {
  if (model.type !== 'lock') return model;
  const expiresAt = new Date(nowMs);
  const { document } = model;
  const seats = document.seats.map((lease) => (lease.id === id ? { ...lease, expiresAt } : lease));
  const queue = document.queue.map((queued) =>
    queued.id === id ? { id, waiter: { ...queued.waiter, expiresAt } } : queued,
  );
  return { type: 'lock', document: { ...document, seats, queue } };
}

const storedOf = (model: Model): Readonly<Record<string, unknown>> | null =>
  model.type === 'lock' ? toStored(mutexModel, 'm', model.document) : null;

/** L1, as far as a document shows it: once all have given back, given up or lapsed, a look finds it empty. */
function nobodyIsLeft(model: Model, nowMs: number): void {
  const { leases, queue } = versionOf(storedOf(transition(mutexModel, model, [], nowMs).after));
  if (leases.length + queue.length > 0) throw new Error('L1: somebody is left');
}
