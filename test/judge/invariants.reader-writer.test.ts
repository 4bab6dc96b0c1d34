import { describe, expect, it } from 'vitest';

import type { Lease, Mode } from '../../src/protocol/lock-document.js';
import { judge } from './invariants.js';
import { lease, nowMs, update, version, waiting } from './judged-updates.js';
import type { Case, Queue } from './judged-updates.js';
import type { Version } from '../../src/testing/judge/lock-version.js';
import { cancel, enqueue, exchange, leave } from '../model/documents/operations.js';

const inMode = (mode: Mode): { mode: Mode } => ({ mode });
const reader = (id: string, token: number, change: Partial<Lease> = {}): Lease =>
  lease(id, token, { mode: 'read', ...change });
const shared = (leases: readonly Lease[], queue: Queue = []): Version =>
  version(leases, queue, { kind: 'reader-writer' });

const reading = shared(
  [reader('a', 6), reader('u', 7, inMode('upgradeable'))],
  [waiting('w', inMode('write'))],
);
const upgrading = shared(
  [reader('a', 6), reader('u', 7, { mode: 'upgradeable', upgrading: true, change: 1 })],
  [waiting('r', inMode('read'))],
);
const written = shared(
  [lease('u', 8, { mode: 'write', change: 1, acquiredAt: new Date(nowMs) })],
  upgrading.queue,
);
const writing = shared(
  [lease('w', 7, inMode('write'))],
  [waiting('r', inMode('read')), waiting('s', inMode('read'))],
);

describe('the judge of a reader-writer lock', () => {
  it('accepts an upgrade, its cancel, a downgrade, and readers together', () => {
    const failed = shared([
      reader('a', 6),
      reader('u', 7, { mode: 'upgradeable', upgrading: false, change: 2 }),
      reader('r', 8),
    ]);
    const downgraded = { mode: 'upgradeable', upgrading: false, change: 1 } as const;
    const together = shared([reader('w', 8, downgraded), reader('r', 9), reader('s', 10)]);
    expect(judge(update(upgrading, written, leave('a')), 7)).toBe(8);
    expect(judge(update(upgrading, failed, exchange('u', 2, 'upgradeable')), 7)).toBe(8);
    expect(judge(update(writing, together, exchange('w', 1, 'upgradeable')), 7)).toBe(10);
  });

  it.each<Case>([
    [
      'a writer and a reader hold together',
      update(writing, shared([...writing.leases, reader('r', 8)], [waiting('s', inMode('read'))])),
      /^S1/,
    ],
    [
      'the writer is not in the seat of the writer',
      update(
        reading,
        { ...shared([lease('w', 8, inMode('write'))]), writer: undefined },
        leave('a'),
        leave('u'),
      ),
      /^S1/,
    ],
    [
      'two readers are upgradeable',
      update(reading, shared([...reading.leases, reader('v', 8, inMode('upgradeable'))], reading.queue)),
      /^S1/,
    ],
    [
      'a plain reader upgrades',
      update(reading, shared([reader('a', 6, { upgrading: true })], reading.queue), leave('u')),
      /^S1/,
    ],
    [
      'the second of two readers that are admitted together has the lower token',
      update(writing, shared([reader('s', 8), reader('r', 9)]), leave('w')),
      /^S3/,
    ],
    [
      'an upgrade gets no new token',
      update(upgrading, shared([lease('u', 7, { mode: 'write', change: 1 })], upgrading.queue), leave('a')),
      /^S3/,
    ],
    [
      'an upgradeable reader writes without a request for an upgrade',
      update(reading, shared([lease('u', 8, inMode('write'))], reading.queue), leave('a')),
      /^S5/,
    ],
    [
      'an outdated change takes an upgrade back',
      update(
        upgrading,
        shared(
          [reader('a', 6), reader('u', 7, { mode: 'upgradeable', upgrading: false, change: 1 })],
          upgrading.queue,
        ),
        exchange('u', 1, 'upgradeable'),
      ),
      /^S5/,
    ],
    [
      'the change of another attempt changes the mode of a lease',
      update(
        reading,
        shared([lease('u', 8, inMode('write'))], reading.queue),
        leave('a'),
        exchange('a', 1, 'write'),
      ),
      /^S5/,
    ],
    [
      'a reader is admitted before an upgrade',
      update(upgrading, shared([...upgrading.leases, reader('r', 8)])),
      /^L3/,
    ],
    [
      'a reader passes a writer in the queue',
      update(
        reading,
        shared([...reading.leases, reader('x', 8)], reading.queue),
        enqueue('x', inMode('read')),
      ),
      /^L3/,
    ],
    [
      'an upgrade waits although it is alone',
      update(upgrading, shared(upgrading.leases.slice(1)), leave('a'), cancel('r')),
      /^L2/,
    ],
    [
      'readers wait for readers',
      update(writing, shared([reader('r', 8)], [waiting('s', inMode('read'))]), leave('w')),
      /^L2/,
    ],
    [
      'the readers behind a failed upgrade are not admitted',
      update(
        upgrading,
        shared(
          [reader('a', 6), reader('u', 7, { mode: 'upgradeable', upgrading: false, change: 2 })],
          upgrading.queue,
        ),
        exchange('u', 2, 'upgradeable'),
      ),
      /^L2/,
    ],
    [
      'a writer waits for a free lock',
      update(reading, shared([], reading.queue), leave('a'), leave('u')),
      /^L2/,
    ],
  ])('objects when %s', (_, wrong, invariant) => {
    expect(() => judge(wrong, 7)).toThrow(invariant);
  });
});
