import type { Lease } from '../../src/protocol/lock-document.js';
import type { ModelSeats } from './reference-model.js';

/** One seat. */
export const mutexModel: ModelSeats<readonly Lease[]> = {
  kind: 'mutex',
  vacant: [],
  leasesOf: (holders) => holders,
  admissible: (holders, waiters) => (holders.length === 0 ? Math.min(1, waiters.length) : 0),
  occupied: (holders, entering) => [...holders, ...entering],
  revised: (holders, change) => holders.flatMap((lease) => change(lease) ?? []),
  isLegal: (holders) => holders.length <= 1,
  stored: ([holder = null]) => ({ holder }),
};
