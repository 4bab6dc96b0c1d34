import type { LockKind, Mode } from '../../../src/protocol/lock-document.js';
import type { Demand } from '../../../src/protocol/operation.js';
import type { Script } from './interleavings.js';
import type { Event, PlannedOperation } from './planned-operation.js';

/**
 * What one of several clients may do, by kind of lock. The id of its first attempt is `w<client>`, of the second one
 * `w<client + 3>`. Every script ends without a lease or a place: its last event is a release, a cancel or a lapse.
 */

type Scripts = Readonly<Record<string, (client: number) => Script>>;

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;

const update = (client: number, ...operations: readonly PlannedOperation[]): Event => ({
  ...{ type: 'update', process: `p${client}`, operations, takingOver: false, short: true },
});

interface Asking {
  readonly id?: string;
  readonly type?: 'enqueue' | 'try';
  readonly notAfterMs?: number;
  readonly keeps?: number;
  readonly demand?: Demand;
}

function ask(client: number, asking: Asking = {}): Event {
  const { id, type = 'enqueue', notAfterMs = DAY_MS, keeps, demand = {} } = asking;
  const request = { target: id ?? `w${client}`, leaseMs: LEASE_MS, notAfterMs, keeps, demand };
  return update(client, { type, ...request, maxMembers: 99, retentionMs: 7 * DAY_MS });
}

const cancel = (client: number): Event => update(client, { type: 'cancel', target: `w${client}` });
const leave = (client: number, id = `w${client}`): Event => update(client, { type: 'leave', target: id });
const lapse = (client: number): Event => ({ type: 'lapse', target: `w${client}`, when: 'past' });
const extend = (client: number): Event =>
  update(client, {
    ...{
      type: 'extend',
      targets: [`w${client}`],
      leaseMs: LEASE_MS,
      retentionMs: DAY_MS,
      nonce: `${client}`,
    },
  });

/** Scripts for a lock of any kind, whose clients all have the same demand. */
const usual = (words: string, demand: Demand): Scripts => ({
  [`${words}, and releases it`]: (client) => [ask(client, { demand }), leave(client)],
  [`${words}, and sends its request twice`]: (client) => [
    ask(client, { demand }),
    ask(client, { demand }),
    leave(client),
  ],
  [`${words} by a try`]: (client) => [ask(client, { demand, type: 'try' }), extend(client), leave(client)],
  [`${words}, and cancels, which may come too late`]: (client) => [
    ask(client, { demand }),
    cancel(client),
    leave(client),
  ],
  [`${words}, dies, and a late release arrives`]: (client) => [
    ask(client, { demand }),
    lapse(client),
    leave(client),
  ],
  [`${words}, lapses and comes back`]: (client) => [
    ask(client, { demand }),
    lapse(client),
    ask(client, { demand, id: `w${client + 3}` }),
    leave(client, `w${client + 3}`),
  ],
  [`${words}, and a late copy of the request arrives after the release`]: (client) => [
    ask(client, { demand }),
    leave(client),
    ask(client, { demand, notAfterMs: -1 }),
  ],
});

const KEEPING: Scripts = {
  'takes it to keep it, and sends its request twice': (client) => [
    ask(client, { keeps: 999 }),
    ask(client, { keeps: 999 }),
    leave(client),
  ],
};

const change = (client: number, number: number, to: Mode, waits = true): Event =>
  update(client, { type: 'exchange', target: `w${client}`, change: number, to, waits });

const upgradeable: Asking = { demand: { mode: 'upgradeable' } };
const write: Asking = { demand: { mode: 'write' } };

const READER_WRITER: Scripts = {
  'reads, keeps the read, and sends its request twice': (client) => [
    ask(client, { keeps: 1, demand: { mode: 'read' } }),
    ask(client, { keeps: 1, demand: { mode: 'read' } }),
    leave(client),
  ],
  reads: (client) => [ask(client, { demand: { mode: 'read' } }), leave(client)],
  'reads, and dies': (client) => [ask(client, { demand: { mode: 'read' } }), lapse(client)],
  'reads by a try': (client) => [
    ask(client, { type: 'try', demand: { mode: 'read' } }),
    extend(client),
    leave(client),
  ],
  writes: (client) => [ask(client, write), leave(client)],
  'wants to write, and cancels, which may come too late': (client) => [
    ask(client, write),
    cancel(client),
    leave(client),
  ],
  'wants to write, and dies': (client) => [ask(client, write), lapse(client)],
  upgrades: (client) => [ask(client, upgradeable), change(client, 1, 'write'), leave(client)],
  'upgrades, and takes that back': (client) => [
    ask(client, upgradeable),
    change(client, 1, 'write'),
    change(client, 2, 'upgradeable'),
    leave(client),
  ],
  'upgrades, takes that back, and a late copy of the upgrade arrives': (client) => [
    ask(client, upgradeable),
    change(client, 1, 'write'),
    change(client, 2, 'upgradeable'),
    change(client, 1, 'write'),
    leave(client),
  ],
  'takes an upgrade back before it arrives': (client) => [
    ask(client, upgradeable),
    change(client, 2, 'upgradeable'),
    change(client, 1, 'write'),
    leave(client),
  ],
  'upgrades, and then only reads': (client) => [
    ask(client, upgradeable),
    change(client, 1, 'write'),
    change(client, 2, 'read'),
    leave(client),
  ],
  'tries to upgrade': (client) => [
    ask(client, upgradeable),
    change(client, 1, 'write', false),
    leave(client),
  ],
  'tries to upgrade, and then waits for it': (client) => [
    ask(client, upgradeable),
    change(client, 1, 'write', false),
    change(client, 2, 'write'),
    leave(client),
  ],
  'dies while it upgrades': (client) => [ask(client, upgradeable), change(client, 1, 'write'), lapse(client)],
  'downgrades step by step': (client) => [
    ask(client, write),
    change(client, 1, 'upgradeable'),
    change(client, 2, 'read'),
    leave(client),
  ],
  'downgrades, and dies': (client) => [ask(client, write), change(client, 1, 'read'), lapse(client)],
};

/** The limit that all clients name first; some scripts change it. */
const LIMIT = 3;

const take = (permits: number, also: Asking = {}): Asking => ({ ...also, demand: { permits, limit: LIMIT } });

const resize = (client: number, limit: number, notAfterMs = DAY_MS): Event =>
  update(client, { type: 'resize', limit, notAfterMs });

const SEMAPHORE: Scripts = {
  'takes one': (client) => [ask(client, take(1)), leave(client)],
  'takes two': (client) => [ask(client, take(2)), leave(client)],
  'takes one to keep it': (client) => [ask(client, take(1, { keeps: 999 })), leave(client)],
  'takes all, and sends its request twice': (client) => [
    ask(client, take(3)),
    ask(client, take(3)),
    leave(client),
  ],
  'takes two by a try': (client) => [ask(client, take(2, { type: 'try' })), extend(client), leave(client)],
  'wants all, and cancels, which may come too late': (client) => [
    ask(client, take(3)),
    cancel(client),
    leave(client),
  ],
  'wants all, and dies': (client) => [ask(client, take(3)), lapse(client)],
  'takes one, and dies': (client) => [ask(client, take(1)), lapse(client), leave(client)],
  'takes two, and lowers the limit to one': (client) => [
    ask(client, take(2)),
    resize(client, 1),
    leave(client),
  ],
  'wants all, and lowers the limit below that': (client) => [
    ask(client, take(3)),
    resize(client, 2),
    leave(client),
  ],
  'raises the limit, and lowers it again': (client) => [
    ask(client, take(1)),
    resize(client, 5),
    resize(client, 2),
    leave(client),
  ],
  'raises the limit, and a late resize arrives': (client) => [
    resize(client, 4),
    ask(client, take(2)),
    resize(client, 1, -1),
    leave(client),
  ],
  'insists on a limit of two': (client) => [
    ask(client, { demand: { permits: 1, limit: 2, mustMatch: true } }),
    leave(client),
  ],
  'sets the limit to four, and takes all': (client) => [
    ask(client, { demand: { permits: 4, limit: 4, setsLimit: true } }),
    leave(client),
  ],
};

/** Stands for election under a candidate id of its own. */
const stand = (client: number, how: 'awake' | 'silent' = 'awake', id?: string): Event => {
  const transitionMs = how === 'silent' ? DAY_MS / 2 : 0;
  return ask(client, {
    ...(id === undefined ? {} : { id }),
    demand: { candidateId: `c${client}`, value: '', transitionMs },
  });
};

const handOver = (client: number, to: number): Event =>
  update(client, { type: 'handOver', target: `w${client}`, candidateId: `c${to}` });

/** Begins the transition of the client, if it leads by now. */
const fallSilent = (client: number): Event => ({ type: 'lapse', target: `w${client}`, when: 'silent' });

/** Claims an instant of its job, under the same claim id each time. */
const claim = (client: number): Event =>
  update(client, {
    ...{ type: 'claim', target: `w${client}`, isPresent: true, job: `j${client}`, inMs: -1 },
    ...{ isInformed: true, claimId: `c${client}`, runs: true, call: undefined, nonce: `${client}` },
  });

const askToGo = (client: number): Event => update(client, { type: 'ask', targets: [`w${client}`] });

const again = (client: number): string => `w${client + 3}`;

const ELECTION: Scripts = {
  leads: (client) => [stand(client), leave(client)],
  'leads, and sends its request twice': (client) => [stand(client), stand(client), leave(client)],
  'stands, and cancels, which may come too late': (client) => [stand(client), cancel(client), leave(client)],
  'hands over to the next': (client) => [stand(client), handOver(client, (client + 1) % 3), leave(client)],
  'hands over to the one before, and a late copy of that arrives': (client) => [
    stand(client),
    handOver(client, (client + 2) % 3),
    leave(client),
    handOver(client, (client + 2) % 3),
  ],
  'hands over to an unknown candidate': (client) => [stand(client), handOver(client, 7), leave(client)],
  'leads, and dies': (client) => [stand(client), lapse(client)],
  'falls silent, and returns': (client) => [
    stand(client, 'silent'),
    fallSilent(client),
    stand(client, 'silent', again(client)),
    leave(client),
    leave(client, again(client)),
  ],
  'falls silent, claims, and a late extension and a late copy of the claim arrive': (client) => [
    stand(client, 'silent'),
    fallSilent(client),
    claim(client),
    extend(client),
    claim(client),
    leave(client),
  ],
  'falls silent, and dies': (client) => [stand(client, 'silent'), fallSilent(client), lapse(client)],
  'is asked to end its term, and waits behind it': (client) => [
    stand(client, 'silent'),
    fallSilent(client),
    askToGo(client),
    stand(client, 'silent', again(client)),
    leave(client),
    leave(client, again(client)),
  ],
};

export const SCRIPTS: Readonly<Record<LockKind, Scripts>> = {
  mutex: { ...usual('takes it', {}), ...KEEPING },
  'reader-writer': READER_WRITER,
  semaphore: SEMAPHORE,
  election: ELECTION,
};
