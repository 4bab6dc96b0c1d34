import fc from 'fast-check';

import type { Operation } from '../../src/protocol/transition.js';

/** An attempt, or whoever holds the lock or waits first when it comes to it. */
type Target = string;

/** An operation whose times and targets are settled when it is sent. */
type PlannedOperation =
  | {
      readonly type: 'enqueue' | 'try';
      readonly target: Target;
      readonly leaseMs: number;
      readonly notAfterMs: number;
      readonly maxMembers: number;
      readonly retentionMs: number;
      readonly label?: string | undefined;
      readonly why?: string | undefined;
    }
  | { readonly type: 'cancel' | 'leave'; readonly target: Target }
  | {
      readonly type: 'extend';
      readonly targets: readonly Target[];
      readonly leaseMs: number;
      readonly retentionMs: number;
    }
  | { readonly type: 'evict'; readonly targets: readonly Target[] }
  | { readonly type: 'ask'; readonly targets: readonly Target[]; readonly why?: string | undefined };

/** One step of a random history: mostly updates, and now and then something that befalls the document. */
export type Event =
  | {
      readonly type: 'update';
      readonly process: string;
      readonly operations: readonly PlannedOperation[];
      readonly adopting: boolean;
    }
  | {
      readonly type: 'extension';
      readonly targets: readonly Target[];
      readonly leaseMs: number;
      readonly retentionMs: number;
    }
  /** Its end is moved. `now`: to the very millisecond in which that is written. `ahead`: the clock stepped back. */
  | { readonly type: 'lapse'; readonly target: Target; readonly when: 'past' | 'now' | 'ahead' }
  | { readonly type: 'fence-ahead'; readonly by: number }
  | { readonly type: 'delete' }
  | { readonly type: 'other-kind'; readonly isLive: boolean }
  | { readonly type: 'corruption'; readonly which: number };

export const PROCESSES = ['host-a:1:p0', 'host-b:2:p1', 'host-b:3:p2'] as const;
const ATTEMPTS = Array.from({ length: 8 }, (_, index) => `w${index}`);
const DAY_MS = 86_400_000;

/** Who asks under this attempt id. */
export const processOf = (id: string): string => PROCESSES[Number(id.slice(1)) % PROCESSES.length] ?? '';

const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ATTEMPTS) },
  { weight: 2, arbitrary: fc.constant('holder') },
  { weight: 1, arbitrary: fc.constant('head') },
);
const targets = fc.array(target, { minLength: 1, maxLength: 3, size: 'max' });
const leaseMs = fc.constantFrom(100, 30_000, 30_000, 30_000, DAY_MS);
const retentionMs = fc.constantFrom(7 * DAY_MS, 7 * DAY_MS, 2 * DAY_MS, 30 * DAY_MS, 60 * DAY_MS);
const text = fc.option(fc.constantFrom('nightly', '$holder', '$$NOW', 'a.b', '__proto__', '', '🔒'), {
  nil: undefined,
});

const request: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constantFrom('enqueue', 'enqueue', 'enqueue', 'try'),
  target: fc.constantFrom(...ATTEMPTS),
  leaseMs,
  notAfterMs: fc.constantFrom(60_000, 60_000, 60_000, 60_000, 60_000, 0, -1, -DAY_MS),
  maxMembers: fc.constantFrom(10_000, 10_000, 10_000, 2, 3, 4),
  retentionMs,
  label: text,
  why: text,
});

const operation: fc.Arbitrary<PlannedOperation> = fc.oneof(
  { weight: 8, arbitrary: request },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('leave'), target }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel'), target }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('extend'), targets, leaseMs, retentionMs }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('ask'), targets, why: text }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('evict'), targets }) },
);

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      type: fc.constant('update'),
      process: fc.constantFrom(...PROCESSES),
      operations: fc.array(operation, { maxLength: 4, size: 'max' }),
      adopting: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('extension'), targets, leaseMs, retentionMs }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('lapse'),
      target: fc.oneof(fc.constant('holder'), target),
      when: fc.constantFrom('past', 'past', 'now', 'ahead'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('fence-ahead'), by: fc.constantFrom(1, 7, 1_000_000_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'delete' }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('other-kind'), isLive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('corruption'), which: fc.nat(9) }) },
);

/** A history of up to `maxLength` events of one lock. */
export const history = (maxLength: number): fc.Arbitrary<readonly Event[]> =>
  fc.array(event, { minLength: 1, maxLength, size: 'max' });

/** The operation as it is sent: `nowMs` is the server's time as last heard of. */
export function settle(
  planned: PlannedOperation,
  nowMs: number,
  resolve: (target: Target) => string,
): Operation {
  switch (planned.type) {
    case 'enqueue':
    case 'try': {
      const { type, target: id, notAfterMs, ...rest } = planned;
      return {
        type,
        request: { id, process: processOf(id), notAfter: new Date(nowMs + notAfterMs), ...rest },
      };
    }
    case 'cancel':
    case 'leave':
      return { type: planned.type, id: resolve(planned.target) };
    case 'extend': {
      const { type, targets: ids, ...lifetime } = planned;
      return { type, ids: ids.map(resolve), ...lifetime };
    }
    case 'ask':
      return { type: 'ask', ids: planned.targets.map(resolve), why: planned.why };
    case 'evict':
      return { type: 'evict', ids: planned.targets.map(resolve) };
  }
}
