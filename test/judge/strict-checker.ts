import type { Document } from 'mongodb';

import { readWake, gaveBackLease } from '../../src/protocol/wake.js';
import { versionOf } from './lock-version.js';
import { hasToken } from './token-blocks.js';
import type { Change } from './oplog-entry.js';
import type { Grant } from './oplog-checker.js';
import type { History } from '../faults/history.js';
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

  /** Takes every version of every document, in order. */
  take({ name, before, after }: Change): void {
    const words = readWake(after?.['wake']);
    for (const id of idsIn(before)) {
      // Zero: the lease was over before it was given back.
      if (gaveBackLease(words, id) === true) this.#left.add(`${name} ${id}`);
    }
    // An attempt that is granted again by a late copy of its request has to be given back again.
    for (const id of idsIn(after)) if (!idsIn(before).includes(id)) this.#left.delete(`${name} ${id}`);
  }

  /** `aheadMs`: by how much the wall clock is ahead of the monotonic one. */
  judge(history: History, grants: readonly Grant[], { aheadMs, promptMs }: Promptness): readonly Violation[] {
    for (const grant of grants) {
      const key = `${grant.lock} ${grant.id}`;
      if (!this.#grants.has(key)) this.#grants.set(key, grant);
    }
    return [...this.#lostHolds(history), ...this.#lateNews(history, aheadMs, promptMs), ...this.#expired()];
  }

  *#lostHolds({ workers }: History): Iterable<Violation> {
    for (const [worker, lines] of workers.entries()) {
      for (const line of lines) {
        if (line.type !== 'lost' && line.type !== 'not held') continue;
        yield violation('L4', `worker ${worker}, ask ${line.ask}: ${line.type}, and nothing happened to it`);
      }
    }
  }

  /** From the update that gave the seat, by the server's clock, to the return of the call. */
  *#lateNews({ workers }: History, aheadMs: number, promptMs: number): Iterable<Violation> {
    for (const [worker, lines] of workers.entries()) {
      const locks = new Map<number, string>();
      for (const line of lines) {
        if (line.type === 'asked' && line.isOneOfSeveral !== true) locks.set(line.ask, line.lock);
        const lock = line.type === 'granted' ? locks.get(line.ask) : undefined;
        if (line.type !== 'granted' || lock === undefined) continue;
        const grant = this.#grants.get(`${lock} ${line.id}`);
        // The process has kept the seat, and passed it on to the next request by itself.
        if (grant !== undefined && grant.token !== line.token && hasToken(grant, line.token)) continue;
        const lateMs = Number(line.atNs) / 1e6 + aheadMs - (grant?.wallMs ?? Infinity);
        if (lateMs > promptMs) {
          yield violation(
            'L2',
            `worker ${worker}, ask ${line.ask}: heard ${lateMs.toFixed(0)} ms after its grant`,
          );
        }
      }
    }
  }

  *#expired(): Iterable<Violation> {
    for (const [key, { lock, id }] of this.#grants) {
      if (!this.#left.has(key)) yield violation('R1', `${lock}: ${id} was granted, and was never given back`);
    }
  }
}

interface Promptness {
  readonly aheadMs: number;
  readonly promptMs: number;
}

const idsIn = (document: Document | null): readonly string[] =>
  document === null ? [] : versionOf(document).leases.map(({ id }) => id);

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
