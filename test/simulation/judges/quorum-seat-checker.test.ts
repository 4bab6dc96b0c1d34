import { expect, it } from 'vitest';

import type { RunLine } from '../../faults/history.js';
import { at, MUTEX } from '../../judge/written-history.js';
import type { Lines } from '../../judge/written-history.js';
import { lease, mutex } from '../../judge/written-versions.js';
import { QUORUM_LOCK } from '../world/quorum-actor.js';
import { checkQuorumSeats } from './quorum-seat-checker.js';
import { restoredIn } from './restored-copies.js';
import { changesIn, date, evidence, inWords } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const NAME = `${QUORUM_LOCK}mutex`;
const seated = mutex(lease('wa', 5, { expiresAt: date(600) }));
const vanished = null as unknown as Written[number][1];

/** The violations in these versions of one replica set. All seats are of one process, which writes these lines. */
function judged(versions: Written, lines: Lines = [], run: readonly RunLine[] = []): string {
  const changes = changesIn(NAME, versions);
  const { history, ...rest } = evidence([lines], {});
  const seen = { ...rest, history: { ...history, run }, quorumProcesses: new Map([['p', 0]]) };
  return inWords(checkQuorumSeats(seen, [changes], restoredIn([changes])));
}

/** The seats that these versions show of a process that has asked for nothing. */
const found = (...versions: Written): string => judged(versions);

it('a seat of a quorum has a request, unless an old copy of its lock was restored', () => {
  expect(found([0, seated])).toMatch(/^R1 .*no request is the reason of the seat wa at/);
  const twice = found([0, seated], [100, vanished], [200, seated]);
  expect(twice.split('\n')).toHaveLength(1);
});

const failed: Lines = [
  [0, { type: 'asked', ask: 0, lock: NAME, seat: MUTEX, timeoutMs: 0 }],
  [100, { type: 'not granted', ask: 0, code: 'STORE_UNAVAILABLE', isKnown: false }],
];

/** A fault of this replica set, from 50 ms on until 3,900 ms. */
const lateRequests = (set: number): readonly RunLine[] => [
  { type: 'fault begins', atNs: at(50), fault: 0, what: 'requests come late', set },
  { type: 'fault ends', atNs: at(3_900), fault: 0, what: 'requests come late', set },
];

it('a seat of a request that has failed may come as late as a fault of its replica set holds the request back', () => {
  const versions: Written = [
    [3_950, mutex(lease('wa', 5, { expiresAt: date(4_550) }))],
    [4_000, mutex(null)],
  ];
  expect(judged(versions, failed)).toMatch(/^R1 .*no request is the reason of the seat wa at/);
  expect(judged(versions, failed, lateRequests(1))).toMatch(/^R1 .*no request is the reason/);
  expect(judged(versions, failed, lateRequests(0))).toBe('');
});

it('such a seat comes no later than that, and stays no longer than a lease', () => {
  const late: Written = [[7_500, mutex(lease('wa', 5, { expiresAt: date(7_600) }))]];
  expect(judged(late, failed, lateRequests(0))).toMatch(
    /^R1 .*no request is the reason of the seat wa at 7500 ms/,
  );
  const long: Written = [[3_950, mutex(lease('wa', 5, { expiresAt: date(8_000) }))]];
  expect(judged(long, failed, lateRequests(0))).toMatch(
    /^R1 quorum-mutex: worker 0, ask 0.* ended at 100 ms, and its seat wa stayed until 8000 ms/,
  );
});
