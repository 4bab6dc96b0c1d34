import type { Operation } from '../../../src/protocol/operation.js';
import type { LockDocumentDriver, StoredDocument } from './lock-document-driver.js';
import {
  ask,
  call,
  cancel,
  claim,
  claimWithoutTerm,
  conclude,
  enqueue,
  evict,
  exchange,
  extend,
  handOver,
  leave,
  raiseFence,
  resize,
  tryOnce,
} from './operations.js';

interface Update {
  readonly operations: readonly Operation[];
  readonly takingOver: boolean;
}

/** Demands for every kind of lock. Each kind ignores those of the others. */
export const DEMAND = { mode: 'read', permits: 1, limit: 3 } as const;

/** Each operation in an update of its own, all operations in one update, and the updates that may take over a kind. */
export const UPDATES: readonly Update[] = ((): readonly Update[] => {
  const requests = [enqueue('w9', DEMAND), tryOnce('w9', DEMAND), enqueue('w1', DEMAND)];
  const operations = [
    ...[...requests, cancel('w1'), cancel('w9'), leave('wh'), leave('wr'), leave('w1'), leave('w9')],
    ...[extend('wh', 'w1', 'w2'), ask('wh', 'why'), evict('wh'), ask('w1'), evict('w1')],
    ...[exchange('wh', 1, 'write'), exchange('wh', 2, 'read', false), exchange('wr', 3, 'upgradeable')],
    ...[enqueue('w5', { ...DEMAND, keeps: 999 }), tryOnce('w5', { ...DEMAND, keeps: 1 })],
    ...[resize(1), resize(9), enqueue('w8', { ...DEMAND, setsLimit: true })],
    ...[handOver('wh', 'b'), handOver('wh', 'nobody'), handOver('w1', 'a')],
    ...[claim('wh', 'job'), claim('wh', '$x.y'), claim('w1', 'job')],
    ...[claimWithoutTerm('mail'), claimWithoutTerm('job'), claimWithoutTerm('$x.y')],
    ...[conclude('wh', 'mail'), conclude('w1', '$x.y'), call('mail'), call('$x.y'), call('job', null)],
    ...[raiseFence('wh', 2 ** 50), raiseFence('w9', 2 ** 50)],
    ...[
      enqueue('w7', { ...DEMAND, limit: 2, mustMatch: true }),
      enqueue('w6', { ...DEMAND, mode: 'upgradeable' }),
    ],
  ];
  const apart = operations.map((operation) => [operation]);
  const takingOver = [
    [leave('wh'), enqueue('w9', DEMAND)],
    [leave('wh'), tryOnce('w9', DEMAND)],
  ];
  return [
    ...[[], ...apart, operations].map((each) => ({ operations: each, takingOver: false })),
    ...takingOver.map((each) => ({ operations: each, takingOver: true })),
  ];
})();

/** Operations that have a fast path. */
const SHORT = [
  ...[enqueue('w9', DEMAND), tryOnce('w9', { ...DEMAND, mode: 'write', setsLimit: true })],
  ...[enqueue('w5', { ...DEMAND, keeps: 999 }), leave('wh'), leave('w9')],
];

/** Sends these updates to the same document. Describes the first failure, or the document if a byte has changed. */
export async function touch(
  driver: LockDocumentDriver,
  document: StoredDocument,
  updates: readonly Update[],
): Promise<string | undefined> {
  await driver.put(document);
  const before = await driver.image(document._id);
  for (const { operations, takingOver } of updates) {
    const words = `${operations.map(({ type }) => type).join(', ')}${takingOver ? ', takingOver' : ''}`;
    const failure = await driver.apply(document._id, operations, { takingOver }).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (failure !== undefined) return `[${words}] fails: ${failure}`;
  }
  for (const operation of SHORT) {
    const failure = await driver.sendShort(document._id, operation, operation.type === 'try').then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (failure !== undefined) return `[${operation.type}, by the fast path] fails: ${failure}`;
  }
  await driver.extend(document._id, ['wh', 'w1', 'w2'], 30_000, 900 * 86_400_000);
  const after = await driver.read(document._id);
  return (await driver.image(document._id)) === before ? undefined : `now ${JSON.stringify(after)}`;
}

/** Runs these at the same time, a few at once. */
export async function inLanes<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await run(next);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}
