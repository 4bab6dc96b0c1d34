import type { AcquireOptions, LockHandle, LockRequest, Semaphore } from '../../../src/index.js';
import type { Mode, Seat } from '../history.js';
import type { Random } from '../../../lab/random.js';
import type { Stage } from './stage.js';

/** A lock of the workload. There are only a few, and all actors want them. */
type Plan = { readonly name: string; readonly keepMs?: number; readonly passes?: number } & (
  | { readonly kind: 'mutex' }
  | { readonly kind: 'reader-writer'; readonly readPercent: number }
  | { readonly kind: 'semaphore'; readonly limit: number }
);

/** A mutex that is given back after each hold. */
export const PLAIN_MUTEX = 'mutex-a';

/** The lock that is mostly read, so that readers share the reads that their processes keep. */
export const READ_MOSTLY = 'read-mostly';

/** The mutex whose seat passes although another process waits. It is kept so long that only the count bounds passes. */
export const PASSED_ON = 'mutex-c';

/** The semaphore that actors want. Operators change its limit. */
export const SEMAPHORE = 'semaphore';

/** A lock that is kept for long. It is wanted only in rounds in which actors want no other lock. */
export const SELDOM_WANTED = 'seldom-wanted';

/** A seat that is kept is kept for longer than actors are idle. */
const PLANS: readonly [Plan, ...Plan[]] = [
  { name: PLAIN_MUTEX, kind: 'mutex' },
  { name: 'mutex-b', kind: 'mutex', keepMs: 200 },
  { name: PASSED_ON, kind: 'mutex', keepMs: 20_000, passes: 4 },
  { name: 'reader-writer-a', kind: 'reader-writer', readPercent: 40 },
  { name: 'reader-writer-b', kind: 'reader-writer', readPercent: 40, keepMs: 200 },
  { name: READ_MOSTLY, kind: 'reader-writer', readPercent: 96, keepMs: 1_500 },
  { name: SEMAPHORE, kind: 'semaphore', limit: 3, keepMs: 200, passes: 2 },
];

/** The names of the locks that actors want if no other ones are named. */
export const LOCK_NAMES: readonly string[] = PLANS.map(({ name }) => name);

const planOf = (lock: string): Plan | undefined =>
  lock === SELDOM_WANTED
    ? { name: lock, kind: 'mutex', keepMs: 60_000 }
    : PLANS.find(({ name }) => name === lock);

/** How often a process may pass a kept seat of this lock on although another process waits. */
export const passesOf = (lock: string): number => planOf(lock)?.passes ?? 0;

const keeping = (lock: string): { readonly keepMs: number; readonly passes: number } => ({
  keepMs: planOf(lock)?.keepMs ?? 0,
  passes: passesOf(lock),
});

const OTHER_MODES: readonly [Mode, ...Mode[]] = ['upgradeable', 'upgradeable', 'write'];

/** One lock, and how to hold it. A wish to lead is a candidacy instead. */
export interface Wish {
  readonly lock: string;
  readonly seat: Exclude<Seat, { readonly kind: 'election' }>;
}

/** @param names - The names of the locks that are wanted; empty: all. */
export function drawWish(random: Random, names: readonly string[]): Wish {
  return wishFor(random.pick(plansFor(names)), random);
}

function plansFor(names: readonly string[]): readonly [Plan, ...Plan[]] {
  const [first, ...others] = names.flatMap((name) => planOf(name) ?? []);
  return first === undefined ? PLANS : [first, ...others];
}

/** Some locks, each once, in any order. */
export function drawWishes(random: Random, names: readonly string[]): readonly Wish[] {
  const wanted = plansFor(names);
  const first = random.between(0, wanted.length - 1);
  const count = Math.min(wanted.length, random.between(2, 3));
  const plans = Array.from(
    { length: count },
    (_, index) => wanted[(first + index) % wanted.length] ?? wanted[0],
  );
  return (random.percent(50) ? plans : plans.reverse()).map((plan) => wishFor(plan, random));
}

function wishFor(plan: Plan, random: Random): Wish {
  switch (plan.kind) {
    case 'mutex':
      return { lock: plan.name, seat: { kind: 'mutex' } };
    case 'reader-writer': {
      const mode = random.percent(plan.readPercent) ? 'read' : random.pick(OTHER_MODES);
      return { lock: plan.name, seat: { kind: 'reader-writer', mode } };
    }
    case 'semaphore': {
      const { limit } = plan;
      return { lock: plan.name, seat: { kind: 'semaphore', permits: random.between(1, limit), limit } };
    }
  }
}

/** What a wish needs to ask. */
type Asking = Pick<Stage, 'locks' | 'followsLimit'>;

function semaphoreFor({ locks, followsLimit }: Asking, lock: string, limit: number): Semaphore {
  const following = followsLimit === true ? ({ whenLimitDiffers: 'follow' } as const) : {};
  return locks.createSemaphore(lock, limit, { ...keeping(lock), ...following });
}

export function requestOf(asking: Asking, { lock, seat }: Wish): LockRequest {
  const { locks } = asking;
  switch (seat.kind) {
    case 'mutex':
      return { mutex: locks.createMutex(lock, keeping(lock)) };
    case 'reader-writer': {
      const both = locks.createReaderWriterLock(lock, keeping(lock));
      if (seat.mode === 'read') return { read: both };
      return seat.mode === 'write' ? { write: both } : { upgradeableRead: both };
    }
    case 'semaphore':
      return { semaphore: semaphoreFor(asking, lock, seat.limit), permits: seat.permits };
  }
}

/** Requests one lock; `null` if a try found it busy. */
export async function askFor(
  asking: Asking,
  { lock, seat }: Wish,
  options: AcquireOptions,
  isTry: boolean,
): Promise<LockHandle | null> {
  const { locks } = asking;
  switch (seat.kind) {
    case 'mutex': {
      const mutex = locks.createMutex(lock, keeping(lock));
      return await (isTry ? mutex.tryAcquire(options) : mutex.acquire(options));
    }
    case 'semaphore': {
      const semaphore = semaphoreFor(asking, lock, seat.limit);
      const wanted = { ...options, permits: seat.permits };
      return await (isTry ? semaphore.tryAcquire(wanted) : semaphore.acquire(wanted));
    }
    case 'reader-writer': {
      const both = locks.createReaderWriterLock(lock, keeping(lock));
      if (seat.mode === 'read')
        return await (isTry ? both.tryAcquireRead(options) : both.acquireRead(options));
      if (seat.mode === 'write') {
        return await (isTry ? both.tryAcquireWrite(options) : both.acquireWrite(options));
      }
      return await (isTry ? both.tryAcquireUpgradeableRead(options) : both.acquireUpgradeableRead(options));
    }
  }
}
