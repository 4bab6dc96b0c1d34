/** What a request asks for. */
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
 * The journal of a worker, one line of JSON for each step, written before the next step. `atNs` is CLOCK_MONOTONIC,
 * which all processes of a machine share: taken just before a call, and just after an answer. `ask` numbers the requests
 * of one worker. Each lock of an `acquireAll` is asked for under a number of its own, before the call.
 */
export type WorkerLine =
  | (At<'started'> & { readonly process: string; readonly leaseMs: number })
  | (At<'asked'> & OfAsk & Asked)
  /** `untilNs`: how long the hold can be relied on, unless it is released or lost earlier. */
  | (At<'granted'> & OfAsk & { readonly id: string; readonly token: number; readonly untilNs: string })
  /** `isKnown`: whether it is known that nothing was granted; false where the store did not answer. */
  | (At<'not granted'> & OfAsk & { readonly code: string; readonly isKnown: boolean })
  /** A look found the hold good until later than any line said before. */
  | (At<'promised'> & OfAsk & { readonly untilNs: string })
  /** A look found the hold not held: its deadline has passed, or it was lost. */
  | (At<'not held'> & OfAsk)
  /** A change of mode, before the call: a weaker mode is believed from here on. */
  | (At<'changing'> & OfAsk & { readonly to: Mode })
  /** The change succeeded: a stronger mode is believed from here on. */
  | (At<'changed'> & OfAsk & { readonly to: Mode; readonly token: number; readonly untilNs: string })
  | (At<'not changed'> & OfAsk & { readonly to: Mode; readonly code: string })
  /** The holder is asked to release, as the abort reason `says`. `obeys`: whether it will. */
  | (At<'release requested'> & OfAsk & { readonly says?: string; readonly obeys?: boolean })
  /**
   * The signal aborted. `says`: the message of its reason. `openNs`: when a look last found the hold in doubt, with its
   * deadline ahead; absent if the last look was no such one.
   */
  | (At<'lost'> & OfAsk & { readonly why: string; readonly says?: string; readonly openNs?: string })
  /** The leader begins to end its term, which is still held. */
  | (At<'term ends'> & OfAsk)
  | (At<'releasing'> & OfAsk)
  | (At<'released'> & OfAsk & { readonly wasHeld: boolean })
  /** A term was handed over, or was not. */
  | (At<'handed over'> & OfAsk & { readonly to: string; readonly isHanded: boolean })
  | (At<'adding'> & OfAdd)
  /** `isLate`: the hold was over when the answer came, so the lock did not protect the add. */
  | (At<'added'> & OfAdd & { readonly outcome: 'ok' | 'fail' | 'unknown'; readonly isLate: boolean })
  /** An operator revokes all holds of a lock, or one of them. `call` numbers the calls of the operators of one worker. */
  | (At<'revoking'> & OfCall & Revoking)
  | (At<'revoked'> &
      OfCall & {
        readonly asked: readonly string[];
        readonly gone: readonly string[];
        readonly evicted: readonly string[];
      })
  /** An operator sets the limit of a semaphore. */
  | (At<'resizing'> & OfCall & { readonly lock: string; readonly limit: number })
  | (At<'resized'> & OfCall)
  /** A call of an operator failed, and may have been applied nevertheless. */
  | (At<'call failed'> & OfCall & { readonly code: string })
  /** An observer of an election begins, sees who leads (`null`: nobody), and ends. */
  | (At<'observing'> & OfObservation & { readonly lock: string })
  | (At<'observed'> & OfObservation & { readonly token: number | null; readonly candidateId?: string })
  | (At<'observed no more'> & OfObservation)
  /** A call that has no lines of its own failed. `sinceNs`: when it was made. */
  | (At<'failed'> & { readonly what: FallibleCall; readonly sinceNs: string; readonly code: string })
  /** What is asked for on many locks goes to the server as one command: a group of so many operations. */
  | (At<'group'> & { readonly operations: number })
  /** From `sinceNs` on, the machine let the process run for less than half of the time. */
  | (At<'starved'> & { readonly sinceNs: string })
  /** Something that must never happen, such as an unhandled rejection or an error without a type (R2). */
  | (At<'complaint'> & { readonly what: string })
  /** All is released and closed. `resources`: what is still open then, by kind. */
  | (At<'ended'> & { readonly resources: Readonly<Record<string, number>> });

interface At<T extends string> {
  readonly type: T;
  readonly atNs: string;
}

interface OfAsk {
  readonly ask: number;
}

interface OfObservation {
  readonly observation: number;
}

interface OfCall {
  readonly call: number;
}

interface Revoking {
  readonly lock: string;
  readonly id?: string;
  readonly isForced: boolean;
  readonly why: string;
}

export type FallibleCall = 'inspect' | 'observe' | 'runNow';

interface Asked {
  readonly lock: string;
  readonly seat: Seat;
  /** null waits without a bound, 0 is a try. */
  readonly timeoutMs: number | null;
  /** How often the process may pass a kept seat on although another process waits. Default: 0. */
  readonly passes?: number;
  /** Whether the call asks for several locks, and is answered when it has them all. */
  readonly isOneOfSeveral?: boolean;
}

interface OfAdd extends OfAsk {
  readonly set: SetName;
  /** The lock under which it is added; each set of each lock is a set of its own. */
  readonly lock: string;
  /** No value is ever added twice. */
  readonly value: string;
}

/** The journal of the nemesis and of the run. */
export type RunLine =
  /** `fault`: its number in the list of faults. */
  | (At<'fault begins' | 'fault ends'> & {
      readonly fault: number;
      readonly what: string;
      /** In the simulation, the number of the replica set that it befalls. */
      readonly set?: number;
      readonly excuses?: readonly Excuse[];
      /** At the end of a fault that consists of many small ones: how many there were. */
      readonly effects?: number;
    })
  /** After this, the primary answers no request any more. `term`: that of the last election before. */
  | (At<'primary gone'> & { readonly fault: number; readonly term: number })
  /** The process of a worker is paused or blocked between the two. */
  | (At<'worker stands' | 'worker goes on' | 'worker killed'> & { readonly worker: number })
  /** From `sinceNs` on, the store took so long for one probe that the machine was too busy (`StoreProbe`). */
  | (At<'store was slow'> & { readonly sinceNs: string })
  /** No fault is active, and no other will come. */
  | At<'healed'>
  /** From now on, workers begin nothing new, and release what they hold. */
  | At<'stopping'>;

/**
 * What is not judged while a fault lasts, and for a lease after it. `exclusion`: documents are lost, or clocks differ by
 * more than the allowance, and only tokens protect (S2). `steady lease`: even a long lease may be lost.
 */
export type Excuse = 'exclusion' | 'steady lease';

export interface History {
  /** By number of the worker; lines of one worker are in order. */
  readonly workers: readonly (readonly WorkerLine[])[];
  readonly run: readonly RunLine[];
  /** Absent where no operator is at work. */
  readonly interventions?: Interventions;
}

/** What operators did to holds and limits, as the stored versions show it. */
export interface Interventions {
  readonly evictions: readonly Eviction[];
  /** The stored limit of a semaphore at each of its grants. */
  readonly grantLimits: readonly (LeaseTokens & { readonly limit: number })[];
  /** The stored limits of semaphores, in the order of time. */
  readonly limits: readonly StoredLimit[];
}

/** A lease, and the tokens that its grant gave and reserved. */
export interface LeaseTokens {
  readonly lock: string;
  readonly id: string;
  readonly firstToken: number;
  readonly lastToken: number;
}

/** From `atNs` on, the lease is not stored any more. If clocks of members are ahead, it may be stored a little longer. */
export interface Eviction extends LeaseTokens {
  readonly atNs: string;
}

/** A limit that was stored at some time between the two. */
export interface StoredLimit {
  readonly lock: string;
  readonly limit: number;
  readonly fromNs: string;
  readonly untilNs: string;
}

export const nowNs = (): string => String(process.hrtime.bigint());
