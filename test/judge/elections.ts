import type { Document } from 'mongodb';

import type { History } from '../faults/history.js';
import type { Elections } from './first-grants.js';
import type { Oplog } from './oplog-replay.js';
import { clockOf, nsOf } from './run-clock.js';

/** When each primary was elected, by the oplog. `aheadMs`: how far the wall clock is ahead of the monotonic one. */
export async function electionsIn(
  { client, from }: Oplog,
  history: History,
  aheadMs: number,
): Promise<Elections> {
  const entries = client.db('local').collection<Document & { t: number; wall: Date }>('oplog.rs');
  const filter = { ts: { $gt: from }, op: 'n', 'o.msg': 'new primary' };
  const clock = clockOf(history);
  const elections = await entries.find(filter, { readPreference: 'secondaryPreferred' }).toArray();
  return new Map(
    elections.map(({ t: term, wall }) => {
      const atNs = BigInt(nsOf(Math.round(wall.getTime() - aheadMs)));
      return [term, clock.ns(String(atNs))];
    }),
  );
}
