import type { Document } from 'mongodb';

import { readWake, gaveBackLease } from '../../src/protocol/wake.js';
import { versionOf } from '../../src/testing/judge/lock-version.js';
import type { Version } from '../../src/testing/judge/lock-version.js';
import { hasToken } from '../../src/testing/judge/token-blocks.js';
import type { Change } from './oplog-entry.js';
import type { Grant } from './oplog-checker.js';
import type { SlowTimes } from './slow-times.js';
import type { History, WorkerLine } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';

const CHECKER = 'strict';

/**
 * Rules for a round in which no process is harmed, the store is never away for long, and leases are long: then no hold
 * is lost, no lease ends by its expiry, and every process hears of its grants at once. If a wake-up is lost and only the
 * next look of the waiter makes up for it, the grant is late by these rules (L2).
 */
export class StrictChecker {
  readonly #grants = new Map<string, Grant>();
  readonly #left = new Set<string>();
  /** By lock and lease: the last stored expiry. */
  readonly #expiryMs = new Map<string, number>();
  /** By lock and lease: when its keeper knew, or should have known, that others wait. */
  readonly #told = new Map<string, ToldKeeper[]>();

  /** Takes every version of every document, in order. */
  take({ name, before, after, wallMs }: Change): void {
    const words = readWake(after?.['wake']);
    if (after !== null && after['kind'] !== 'election') this.#noteTold(name, versionOf(after), wallMs);
    const idsBefore = idsIn(before);
    for (const id of idsBefore) {
      // Zero: the lease was over before it was given back.
      if (gaveBackLease(words, id) === true) this.#left.add(`${name} ${id}`);
    }
    for (const { id, expiresAt } of leasesIn(after)) {
      this.#expiryMs.set(`${name} ${id}`, expiresAt.getTime());
      // An attempt that is granted again by a late copy of its request has to be given back again.
      if (!idsBefore.includes(id)) this.#left.delete(`${name} ${id}`);
    }
  }

  judge(history: History, grants: readonly Grant[], promptness: Promptness): readonly Violation[] {
    for (const grant of grants) {
      const key = `${grant.lock} ${grant.id}`;
      if (!this.#grants.has(key)) this.#grants.set(key, grant);
    }
    return [
      ...this.#lostHolds(history, promptness),
      ...this.#lateNews(history, promptness),
      ...this.#sharedAhead(history, promptness),
      ...this.#keptIdle(history, promptness),
      ...this.#expired(promptness),
    ];
  }

  /** From the first word to the keeper until nobody waits any more, or the lease is gone. */
  #noteTold(name: string, { leases, queue, wake }: Version, wallMs: number): void {
    const isWaiting = queue.length > 0 || leases.some(({ upgrading }) => upgrading === true);
    for (const [key, spans] of this.#told) {
      const last = spans.at(-1);
      if (!key.startsWith(`${name} `) || last?.untilMs !== Infinity) continue;
      if (!isWaiting || !leases.some(({ id }) => key === `${name} ${id}`)) last.untilMs = wallMs;
    }
    for (const { id, process } of isWaiting ? leases : []) {
      const key = `${name} ${id}`;
      const spans = this.#told.get(key) ?? [];
      if (!wake.includes(` ${process}:${id}:-1`) || spans.at(-1)?.untilMs === Infinity) continue;
      this.#told.set(key, [...spans, { process, fromMs: wallMs, untilMs: Infinity }]);
    }
  }

  *#lostHolds({ workers }: History, { isAway = () => false }: Promptness): Iterable<Violation> {
    for (const [worker, lines] of workers.entries()) {
      for (const line of lines) {
        if (line.type !== 'lost' && line.type !== 'not held') continue;
        if (isAway(msOfLine(line))) continue;
        yield violation('L4', `worker ${worker}, ask ${line.ask}: ${line.type}, and nothing happened to it`);
      }
    }
  }

  /**
   * From the update that gave the seat, by the server's clock, or from the request, to the return of the call. The time
   * does not count in which answers were lost, the store was slow or did not answer, or the machine starved the worker.
   */
  *#lateNews(
    { workers }: History,
    { aheadMs, promptMs, silentMs = () => 0, unheardMs = () => 0, slowMs = () => 0 }: Promptness,
  ): Iterable<Violation> {
    for (const [worker, lines] of workers.entries()) {
      const asks = new Map<number, Asked>();
      for (const line of lines) {
        if (line.type === 'asked' && line.isOneOfSeveral !== true) asks.set(line.ask, line);
        const asked = line.type === 'granted' ? asks.get(line.ask) : undefined;
        if (line.type !== 'granted' || asked === undefined) continue;
        const grant = this.#grants.get(`${asked.lock} ${line.id}`);
        // The process has kept the seat, and passed it on to the next request by itself.
        if (grant !== undefined && grant.token !== line.token && hasToken(grant, line.token)) continue;
        // A reader may share a lease that was granted before the reader asked.
        const fromMs = Math.max(grant?.wallMs ?? Infinity, wallMsOf(asked, aheadMs));
        const lateMs = wallMsOf(line, aheadMs) - fromMs;
        const span = [fromMs - aheadMs, fromMs + lateMs - aheadMs] as const;
        if (lateMs - silentMs(...span) - unheardMs(...span) - slowMs(...span, worker) > promptMs) {
          yield violation(
            'L2',
            `worker ${worker}, ask ${line.ask}: heard ${lateMs.toFixed(0)} ms after its grant`,
          );
        }
      }
    }
  }

  /** A keeper that was told of a waiter lets no reader share its lease that asks while the waiter still waits. */
  *#sharedAhead(
    { workers }: History,
    { aheadMs, promptMs, unheardMs = () => 0, slowMs = () => 0 }: Promptness,
  ): Iterable<Violation> {
    for (const [worker, lines] of workers.entries()) {
      const asks = new Map<number, Asked>();
      for (const line of lines) {
        if (line.type === 'asked') asks.set(line.ask, line);
        const asked = line.type === 'granted' ? asks.get(line.ask) : undefined;
        if (line.type !== 'granted' || asked?.seat.kind !== 'reader-writer') continue;
        const askedMs = wallMsOf(asked, aheadMs);
        const told = (this.#told.get(`${asked.lock} ${line.id}`) ?? []).find(({ fromMs, untilMs }) => {
          const span = [fromMs - aheadMs, askedMs - aheadMs] as const;
          return (
            fromMs + promptMs + unheardMs(...span) + slowMs(...span, worker) < askedMs && askedMs < untilMs
          );
        });
        if (told === undefined) continue;
        const what = `${asked.lock}: worker ${worker}, ask ${line.ask} shares ${line.id}, whose keeper was told of a waiter ${(askedMs - told.fromMs).toFixed(0)} ms before`;
        yield violation('L3', what);
      }
    }
  }

  /** A keeper that was told of a waiter gives back a lease that no caller uses, unless the store was disturbed. */
  *#keptIdle(
    { workers, run }: History,
    { aheadMs, promptMs, slowMs = () => 0 }: Promptness,
  ): Iterable<Violation> {
    if (run.some(({ type }) => type === 'fault begins')) return;
    const uses = usesIn(workers, aheadMs);
    const workerOf = new Map(
      workers.flatMap((lines, worker) =>
        lines.flatMap((line) => (line.type === 'started' ? [[line.process, worker] as const] : [])),
      ),
    );
    for (const [key, spans] of this.#told) {
      for (const { fromMs, untilMs, process } of spans) {
        const [lock = ''] = key.split(/ (?=\S+$)/);
        const isUsed = [...(uses.get(key) ?? []), ...(uses.get(`${lock} of ${process}`) ?? [])].some(
          (use) => use.fromMs <= fromMs + promptMs && fromMs <= use.untilMs,
        );
        const slowly = slowMs(fromMs - aheadMs, untilMs - aheadMs, workerOf.get(process));
        if (isUsed || untilMs - fromMs - slowly <= promptMs) continue;
        const what = `${key}: kept for ${(untilMs - fromMs).toFixed(0)} ms after its keeper was told of a waiter, and no caller used it`;
        yield violation('L2', what);
      }
    }
  }

  /** If the store is slow, a process may give up on an attempt before any answer shows the grant. */
  *#expired({ aheadMs, slowMs = () => 0, isAway = () => false }: Promptness): Iterable<Violation> {
    for (const [key, { lock, id, wallMs }] of this.#grants) {
      if (this.#left.has(key) || slowMs(wallMs - aheadMs, Infinity) > 0) continue;
      if (isAway((this.#expiryMs.get(key) ?? wallMs) - aheadMs)) continue;
      yield violation('R1', `${lock}: ${id} was granted, and was never given back`);
    }
  }
}

interface Told {
  readonly fromMs: number;
  untilMs: number;
}

interface ToldKeeper extends Told {
  /** The process that keeps the lease. */
  readonly process: string;
}

/**
 * By lock and lease: from when until when a caller has used it. By lock and process: while a caller of this process asks
 * for it together with other locks, because it may have the lease before it has them all, and nobody is told of that.
 */
function usesIn(workers: History['workers'], aheadMs: number): ReadonlyMap<string, readonly Told[]> {
  const uses = new Map<string, Told[]>();
  for (const lines of workers) {
    const locks = new Map<number, string>();
    const begun = new Map<number, Told>();
    const several = new Map<number, Told>();
    let process = '';
    for (const line of lines) {
      if (line.type === 'started') ({ process } = line);
      if (line.type === 'asked') {
        locks.set(line.ask, line.lock);
        if (line.isOneOfSeveral === true) {
          const asking = { fromMs: wallMsOf(line, aheadMs), untilMs: Infinity };
          const key = `${line.lock} of ${process}`;
          uses.set(key, [...(uses.get(key) ?? []), asking]);
          several.set(line.ask, asking);
        }
      }
      const asking =
        line.type === 'granted' || line.type === 'not granted' ? several.get(line.ask) : undefined;
      if (asking !== undefined) asking.untilMs = wallMsOf(line, aheadMs);
      if (line.type === 'granted') {
        const key = `${locks.get(line.ask) ?? ''} ${line.id}`;
        const use = { fromMs: wallMsOf(line, aheadMs), untilMs: Infinity };
        uses.set(key, [...(uses.get(key) ?? []), use]);
        begun.set(line.ask, use);
      }
      const ended = line.type === 'released' || line.type === 'lost' ? begun.get(line.ask) : undefined;
      if (ended !== undefined) ended.untilMs = wallMsOf(line, aheadMs);
    }
  }
  return uses;
}

type Asked = Extract<WorkerLine, { readonly type: 'asked' }>;

const msOfLine = ({ atNs }: WorkerLine): number => Number(atNs) / 1e6;

/** The time of a line on the clock of the oplog. */
const wallMsOf = (line: WorkerLine, aheadMs: number): number => msOfLine(line) + aheadMs;

export interface Promptness {
  /** By how much the wall clock is ahead of the monotonic one. */
  readonly aheadMs: number;
  readonly promptMs: number;
  /** For how long answers were lost, or no server answered, between two times of the monotonic clock. Default: never. */
  readonly silentMs?: (fromMs: number, untilMs: number) => number;
  /** By how much news may be later because change streams showed nothing between the two. Default: by nothing. */
  readonly unheardMs?: (fromMs: number, untilMs: number) => number;
  /** For how long the store was too slow for anybody, or the machine for this worker. Default: never. */
  readonly slowMs?: SlowTimes;
  /** Whether answers were kept away for so long that a lease may have ended by itself before this time. Default: never. */
  readonly isAway?: (untilMs: number) => boolean;
}

const leasesIn = (document: Document | null): Version['leases'] =>
  document === null ? [] : versionOf(document).leases;

const idsIn = (document: Document | null): readonly string[] => leasesIn(document).map(({ id }) => id);

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
