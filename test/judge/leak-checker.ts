import type { Document, MongoClient } from 'mongodb';

import { versionOf } from '../../src/testing/judge/lock-version.js';
import type { History } from '../faults/history.js';
import type { Violation } from '../faults/verdict.js';

/** What one member has open. */
export interface Counters {
  readonly openCursors: number;
  /** The connections of clients with this name. */
  readonly connections: number;
}

export interface Remains {
  readonly history: History;
  /** How many resources of each kind a process has open at its end anyway. */
  readonly baseline: Readonly<Record<string, number>>;
  /** The lock documents, and the server's time at which they were read: after the last lease can have ended. */
  readonly documents: readonly Document[];
  readonly nowMs: number;
  /** The counters of each member, before the workers came and after they were gone. */
  readonly before: readonly Counters[];
  readonly after: readonly Counters[];
}

const CHECKER = 'leaks';

const leak = (what: string): Violation => ({ invariant: 'R1', checker: CHECKER, what });

/** R1: no process, lock document or server keeps anything open. R2: every process ends. */
export function checkLeaks(remains: Remains): readonly Violation[] {
  return [...resourcesLeft(remains), ...membersLeft(remains), ...countersRisen(remains)];
}

function* resourcesLeft({ history, baseline }: Remains): Iterable<Violation> {
  const killed = new Set(history.run.flatMap((line) => (line.type === 'worker killed' ? [line.worker] : [])));
  for (const [worker, lines] of history.workers.entries()) {
    const ended = lines.findLast(({ type }) => type === 'ended');
    if (ended?.type !== 'ended') {
      const what = `worker ${worker} never came to its end`;
      if (!killed.has(worker)) yield { invariant: 'R2', checker: CHECKER, what };
      continue;
    }
    for (const [kind, count] of Object.entries(ended.resources)) {
      const allowed = baseline[kind] ?? 0;
      if (count > allowed)
        yield leak(`worker ${worker} ends with ${count} ${kind} open, ${allowed} are its own`);
    }
  }
}

/** An expired lease stays stored until the next update, and is no leak. */
function* membersLeft({ documents, nowMs }: Remains): Iterable<Violation> {
  for (const document of documents) {
    const { leases, queue } = versionOf(document);
    const holds = leases.map((lease) => ({ what: 'holds', id: lease.id, ...expiryOf(lease) }));
    const waits = queue.map(([id, waiter]) => ({ what: 'waits', id, ...expiryOf(waiter) }));
    for (const { what, id, expiresAt, process } of [...holds, ...waits]) {
      if (expiresAt.getTime() <= nowMs) continue;
      yield leak(
        `${String(document['_id'])}: ${id} of ${process} still ${what}, until ${expiresAt.toISOString()}`,
      );
    }
  }
}

const expiryOf = ({ expiresAt, process }: { expiresAt: Date; process: string }) => ({ expiresAt, process });

/** Compares the sums of all members, because the cursors of replication are open where the primary is. */
function* countersRisen({ before, after }: Remains): Iterable<Violation> {
  for (const what of ['openCursors', 'connections'] as const) {
    const [was, is] = [sumOf(before, what), sumOf(after, what)];
    if (is > was) yield leak(`the servers have ${is} ${what} at the end, and had ${was} before`);
  }
}

const sumOf = (counters: readonly Counters[], what: keyof Counters): number =>
  counters.reduce((sum, one) => sum + one[what], 0);

/** Reads the counters of one member. The client is connected to it directly, and has another name. */
export async function readCounters(client: MongoClient, appName: string): Promise<Counters> {
  const admin = client.db('admin');
  const { metrics } = await admin.command({ serverStatus: 1 });
  const open = admin.aggregate([
    { $currentOp: { allUsers: true, idleConnections: true } },
    { $match: { appName } },
    { $group: { _id: '$connectionId' } },
  ]);
  const { cursor } = metrics as { cursor: { open: { total: number } } };
  return { openCursors: cursor.open.total, connections: (await open.toArray()).length };
}
