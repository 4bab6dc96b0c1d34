import { expect, it } from 'vitest';

import { lease, mutex } from '../../judge/written-versions.js';
import { QUORUM_LOCK } from '../world/quorum-actor.js';
import { checkQuorumSeats } from './quorum-seat-checker.js';
import { restoredIn } from './restored-copies.js';
import { changesIn, date, evidence, inWords } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const NAME = `${QUORUM_LOCK}mutex`;
const seated = mutex(lease('wa', 5, { expiresAt: date(600) }));
const vanished = null as unknown as Written[number][1];

/** The seats that these versions show of a process that has asked for nothing. */
function found(...versions: Written): string {
  const changes = changesIn(NAME, versions);
  const run = { ...evidence([[]], {}), quorumProcesses: new Map([['p', 0]]) };
  return inWords(checkQuorumSeats(run, [changes], restoredIn([changes])));
}

it('a seat of a quorum has a request, unless an old copy of its lock was restored', () => {
  expect(found([0, seated])).toMatch(/^R1 .*no request .* its seat wa stayed until/);
  const twice = found([0, seated], [100, vanished], [200, seated]);
  expect(twice.split('\n')).toHaveLength(1);
});
