// A process whose callers want one lock all the time, and keep its seat between them if the options say so.
import { monotonicMs, sleep } from '../measure.js';
import { newProvider } from './connections.js';
import { grantsOf, isWithin, isWrite, waitsOf } from './holds.js';
import type { Hold, Span } from './holds.js';

/** What the callers of one process do with the lock. */
export interface Use {
  readonly keepMs: number;
  readonly passes: number;
  readonly callers: number;
  readonly holdMs: number;
}

/** The grants of one process within the span, and its waits. */
export interface Used {
  readonly grants: number;
  readonly waitsMs: readonly number[];
  /** The writes that the process has sent within the span, if they were counted. */
  readonly writes: number;
}

export const busy = {
  /** All callers acquire the lock and release it, again and again, until the span is over. */
  async useBusily(
    name: string,
    span: Span,
    { callers, holdMs, ...keeping }: Use,
    countsWrites: boolean,
  ): Promise<Used> {
    let writes = 0;
    const note = (command: string): void => {
      if (isWrite(command) && isWithin(span, monotonicMs())) writes += 1;
    };
    await using locks = newProvider({}, countsWrites ? note : undefined);
    const mutex = locks.createMutex(name, keeping);
    const holds: Hold[] = [];
    const caller = async (): Promise<void> => {
      while (monotonicMs() < span.toMs) {
        const askedMs = monotonicMs();
        const lock = await mutex.acquire();
        const grantedMs = monotonicMs();
        await sleep(holdMs);
        const releasedMs = monotonicMs();
        await lock.release();
        holds.push({ askedMs, grantedMs, releasedMs });
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return { grants: grantsOf([holds], span)[0] ?? 0, waitsMs: waitsOf([holds], span), writes };
  },
};
