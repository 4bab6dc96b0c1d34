import type { History, WorkerLine } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';
import { versionOf } from '../../src/testing/judge/lock-version.js';
import type { Grant } from './oplog-checker.js';
import type { Promptness } from './strict-checker.js';
import type { Change } from './oplog-entry.js';
import { hasToken } from '../../src/testing/judge/token-blocks.js';

const CHECKER = 'passes';

/** The time that one attempt was in the queue. */
interface Waiting {
  readonly id: string;
  readonly process: string;
  readonly fromMs: number;
  untilMs: number;
}

/** A caller that got a kept seat from another caller of its process. */
interface Pass {
  readonly lock: string;
  readonly ask: number;
  /** The pass was after this time, and not after `grantedMs`. */
  readonly fromMs: number;
  readonly grantedMs: number;
  /** How often its process may pass a seat on although another process waits. */
  readonly allowed: number;
}

/**
 * L3 in a round in which every process hears of waiters in time: while an attempt waits, no other process passes its
 * kept seats on more often than its option `passes` says. The passes of the first `promptMs` of a wait do not count,
 * because the process may not have heard of the attempt yet.
 */
export class PassChecker {
  readonly #waits = new Map<string, Waiting[]>();

  /** Takes every version of every document, in order. */
  take({ name, after, wallMs }: Change): void {
    const queue = after === null ? [] : versionOf(after).queue;
    const waits = this.#waits.get(name) ?? [];
    const queued = new Set(queue.map(([id]) => id));
    const open = new Set<string>();
    for (const waiting of waits) {
      if (waiting.untilMs < Infinity) continue;
      if (queued.has(waiting.id)) open.add(waiting.id);
      else waiting.untilMs = wallMs;
    }
    for (const [id, { process }] of queue) {
      if (!open.has(id)) waits.push({ id, process, fromMs: wallMs, untilMs: Infinity });
    }
    if (waits.length > 0) this.#waits.set(name, waits);
  }

  *judge(
    { workers }: History,
    grants: readonly Grant[],
    { aheadMs, promptMs, slowMs = () => 0 }: Promptness,
  ): Iterable<Violation> {
    const byLease = new Map(grants.map((grant) => [`${grant.lock} ${grant.id}`, grant]));
    for (const [worker, lines] of workers.entries()) {
      const process = lines.find(({ type }) => type === 'started') as Started | undefined;
      const counts = new Map<Waiting, number>();
      for (const { lock, ask, fromMs, grantedMs, allowed } of passesIn(lines, byLease, aheadMs)) {
        for (const waiting of this.#waits.get(lock) ?? []) {
          const slowly = slowMs(waiting.fromMs - aheadMs, fromMs - aheadMs, worker);
          const heardByMs = waiting.fromMs + promptMs + slowly;
          const isOvertaken = heardByMs < fromMs && grantedMs < waiting.untilMs;
          if (!isOvertaken || waiting.process === process?.process) continue;
          const count = (counts.get(waiting) ?? 0) + 1;
          counts.set(waiting, count);
          if (count !== allowed + 1) continue;
          const what = `${lock}: worker ${worker}, ask ${ask} is pass ${count} while ${waiting.id} waits, for ${(grantedMs - waiting.fromMs).toFixed(0)} ms; ${allowed} are allowed`;
          yield { invariant: 'L3', checker: CHECKER, what };
        }
      }
    }
  }
}

type Started = Extract<WorkerLine, { readonly type: 'started' }>;
type Asked = Extract<WorkerLine, { readonly type: 'asked' }>;

function* passesIn(
  lines: readonly WorkerLine[],
  byLease: ReadonlyMap<string, Grant>,
  aheadMs: number,
): Iterable<Pass> {
  const asks = new Map<number, Asked>();
  for (const line of lines) {
    if (line.type === 'asked') asks.set(line.ask, line);
    const asked = line.type === 'granted' ? asks.get(line.ask) : undefined;
    if (line.type !== 'granted' || asked === undefined) continue;
    const { lock, ask, passes = 0 } = asked;
    const grant = byLease.get(`${lock} ${line.id}`);
    if (grant === undefined || grant.token === line.token || !hasToken(grant, line.token)) continue;
    // One of several locks may have been passed on long before the last of them was granted.
    const from = asked.isOneOfSeveral === true ? asked : line;
    const [fromMs = 0, grantedMs = 0] = [from, line].map(({ atNs }) => Number(atNs) / 1e6 + aheadMs);
    yield { lock, ask, fromMs, grantedMs, allowed: passes };
  }
}
