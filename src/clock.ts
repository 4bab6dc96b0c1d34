import { systemChance } from './chance.js';
import type { Chance } from './chance.js';

/**
 * The clocks, the timers and the turns of one process, behind one interface, so that tests can move time by hand. The
 * interface includes the random numbers of the process, because a simulation replaces them together with the time.
 */
export interface Clock {
  /** Milliseconds of a monotonic clock. Deadlines are instants on this clock. */
  nowMs(): number;

  /**
   * Milliseconds of the wall clock. A comparison with `nowMs` shows whether the process may have been suspended. The
   * wall clock also stands in for the server's clock until an answer of the server has shown the time.
   */
  wallMs(): number;

  /**
   * Calls `fire` once, when `nowMs()` has reached `atMs`, and never earlier. The timer does not keep the process alive.
   */
  at(atMs: number, fire: () => void): Timer;

  /**
   * Calls `fire` once, after the present turn of the event loop and all its microtasks. `cancel` of the returned timer
   * prevents the call.
   */
  afterTurn(fire: () => void): Timer;

  /**
   * Calls `fire` at the end of the present turn, so that the operations of several callers in one turn can be sent
   * together.
   */
  atEndOfTurn(fire: () => void): void;

  readonly chance: Chance;
}

/**
 * An instant on the monotonic clock (`ms`), and how far the wall clock was ahead of the monotonic clock when
 * `momentNow` measured both (`wallAheadMs`). `after` keeps `wallAheadMs`. If the wall clock has run further ahead since
 * then, the process may have been suspended: the monotonic clock may stand still during a suspension, so the instant
 * may have passed unnoticed (E19).
 */
export interface Moment {
  readonly ms: number;
  readonly wallAheadMs: number;
}

export const momentNow = (clock: Clock): Moment => {
  const ms = clock.nowMs();
  return { ms, wallAheadMs: clock.wallMs() - ms };
};

export const after = ({ ms, wallAheadMs }: Moment, laterMs: number): Moment => ({
  ms: ms + laterMs,
  wallAheadMs,
});

export interface Timer {
  cancel(): void;
}

export const DAY_MS = 86_400_000;

/**
 * The longest delay that Node's timers accept. A longer delay fires at once (E43), so longer waits are cut into slices.
 */
export const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  at: (atMs, fire) => new SystemTimer(atMs, fire),
  afterTurn: (fire) => {
    const immediate = setImmediate(fire);
    return {
      cancel: () => {
        clearImmediate(immediate);
      },
    };
  },
  atEndOfTurn: (fire) => {
    process.nextTick(fire);
  },
  chance: systemChance,
};

class SystemTimer implements Timer {
  readonly #atMs: number;
  readonly #fire: () => void;
  #timeout: NodeJS.Timeout | undefined;

  constructor(atMs: number, fire: () => void) {
    this.#atMs = atMs;
    this.#fire = fire;
    this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #arm(): void {
    const delayMs = Math.min(Math.max(Math.ceil(this.#atMs - performance.now()), 0), MAX_TIMER_MS);
    // A bound method instead of a closure: each seat has a timer, and a closure would take more memory.
    this.#timeout = setTimeout(this.#rang.bind(this), delayMs);
    this.#timeout.unref();
  }

  /**
   * Called by Node's timer: calls `fire` if `atMs` has passed, and sets the timer again otherwise. Node's timer may
   * fire up to a millisecond early by this clock. A wait longer than `MAX_TIMER_MS` needs several timers.
   */
  #rang(): void {
    if (performance.now() < this.#atMs) this.#arm();
    else this.#fire();
  }
}

/**
 * Calls `end` once, when the clock has reached `atMs` or when the signal aborts. `cancel` of the returned timer
 * prevents the call.
 */
function atOrAborted(clock: Clock, atMs: number, signal: AbortSignal | undefined, end: () => void): Timer {
  const cancel = (): void => {
    timer.cancel();
    signal?.removeEventListener('abort', fire);
  };
  const fire = (): void => {
    cancel();
    end();
  };
  const timer = clock.at(atMs, fire);
  if (signal?.aborted === true) fire();
  else signal?.addEventListener('abort', fire);
  return { cancel };
}

/**
 * Resolves or rejects as the promise does. If `boundMs` pass first, or the signal aborts first, resolves with
 * `undefined`. The work behind the promise then goes on in the background.
 */
export async function within<T>(
  clock: Clock,
  boundMs: number,
  promise: Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  let bound: Timer | undefined;
  const over = new Promise<undefined>((resolve) => {
    bound = atOrAborted(clock, clock.nowMs() + boundMs, signal, () => {
      resolve(undefined);
    });
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    bound?.cancel();
  }
}

/** Resolves when the clock has reached `atMs` or when the signal aborts. */
export const sleepUntil = (clock: Clock, atMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    atOrAborted(clock, atMs, signal, resolve);
  });

/** Resolves at the end of the present turn: operations of several callers in one turn can then be sent together. */
export const endOfTurn = (clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    clock.atEndOfTurn(resolve);
  });

/** Resolves after the present turn, when its promises and its I/O events are handled. */
export const turnOver = (clock: Clock): Promise<void> =>
  new Promise((resolve) => {
    clock.afterTurn(resolve);
  });
