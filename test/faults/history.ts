/** How a lock is asked for. */
export type Seat =
  | { readonly kind: 'mutex' }
  | { readonly kind: 'reader-writer'; readonly mode: Mode }
  | { readonly kind: 'semaphore'; readonly permits: number; readonly limit: number }
  | { readonly kind: 'election'; readonly candidateId: string };

export type Mode = 'read' | 'upgradeable' | 'write';

/**
 * Where values are added under an exclusive hold: in the memory of another process, which compares nothing, or in MongoDB,
 * by fenced updates or by fenced transactions.
 */
export type SetName = 'memory' | 'fenced' | 'transaction';

/**
 * What a worker writes down, one line of JSON each, in the order in which it happened, each line before the step after
 * it. `atNs` is CLOCK_MONOTONIC, which all processes of a machine share: for what is asked, taken just before the call;
 * for what is answered, just after. `ask` numbers the requests of one worker; all locks of one `acquireAll` are asked
 * for, each under a number of its own, before the call.
 */
export type WorkerLine =
  | (At<'started'> & { readonly process: string; readonly leaseMs: number })
  | (At<'asked'> & OfAsk & Asked)
  /** `untilNs`: until then the hold promised to be relied on, unless it is released or lost before. */
  | (At<'granted'> & OfAsk & { readonly id: string; readonly token: number; readonly untilNs: string })
  /** `isKnown`: whether it is known that nothing was granted; false where the store did not answer. */
  | (At<'not granted'> & OfAsk & { readonly code: string; readonly isKnown: boolean })
  /** A look found the hold good until later than any line said before. */
  | (At<'promised'> & OfAsk & { readonly untilNs: string })
  /** A look found the hold not held: its deadline has passed, or it was lost. */
  | (At<'not held'> & OfAsk)
  /** A change of mode, before it is asked for: a weaker mode is believed from here on. */
  | (At<'changing'> & OfAsk & { readonly to: Mode })
  /** It came true: a stronger mode is believed from here on. */
  | (At<'changed'> & OfAsk & { readonly to: Mode; readonly token: number; readonly untilNs: string })
  | (At<'not changed'> & OfAsk & { readonly to: Mode; readonly code: string })
  /** The signal aborted. */
  | (At<'lost'> & OfAsk & { readonly why: string })
  | (At<'releasing'> & OfAsk)
  | (At<'released'> & OfAsk & { readonly wasHeld: boolean })
  /** A term was handed over, or was not. */
  | (At<'handed over'> & OfAsk & { readonly to: string; readonly isHanded: boolean })
  | (At<'adding'> & OfAdd)
  /** `isLate`: the hold was not good any more when the answer came, so the lock did not protect it. */
  | (At<'added'> & OfAdd & { readonly outcome: 'ok' | 'fail' | 'unknown'; readonly isLate: boolean })
  /** Something that must never happen, such as an unhandled rejection or an error without a type (R2). */
  | (At<'complaint'> & { readonly what: string })
  /** All is given back and closed; what is still open then, by kind. */
  | (At<'ended'> & { readonly resources: Readonly<Record<string, number>> });

interface At<T extends string> {
  readonly type: T;
  readonly atNs: string;
}

interface OfAsk {
  readonly ask: number;
}

interface Asked {
  readonly lock: string;
  readonly seat: Seat;
  /** null waits without a bound, 0 is a single try. */
  readonly timeoutMs: number | null;
  /** By one call together with others, which answers when it has them all. */
  readonly isOneOfSeveral?: boolean;
}

interface OfAdd extends OfAsk {
  readonly set: SetName;
  /** The lock under which it is added; each set of each lock is a set of its own. */
  readonly lock: string;
  /** No value is ever added twice. */
  readonly value: string;
}

/** What the nemesis and the run write down. */
export type RunLine =
  /** `fault`: its number in the list of faults. */
  | (At<'fault begins' | 'fault ends'> & {
      readonly fault: number;
      readonly what: string;
      readonly excuses?: readonly Excuse[];
      /** At the end of a fault that is made of many small ones: how many there were. */
      readonly effects?: number;
    })
  /** No answer to a request to this member can come from it any more, after this; `term`: of the last election before. */
  | (At<'primary gone'> & { readonly fault: number; readonly term: number })
  /** The process of a worker stands still between the two, or has no time for anything. */
  | (At<'worker stands' | 'worker goes on' | 'worker killed'> & { readonly worker: number })
  /** No fault is active, and no other will come. */
  | At<'healed'>
  /** Workers take up nothing new from now on, and give back what they have. */
  | At<'stopping'>;

/**
 * What a run is not held to while a fault lasts, and for a lease after it. `exclusion`: documents are lost, or clocks go
 * further apart than the allowance, and only tokens protect (S2). `steady lease`: even a long lease may be lost.
 */
export type Excuse = 'exclusion' | 'steady lease';

export interface History {
  /** By number of the worker; lines of one worker are in order. */
  readonly workers: readonly (readonly WorkerLine[])[];
  readonly run: readonly RunLine[];
}

export const nowNs = (): string => String(process.hrtime.bigint());
