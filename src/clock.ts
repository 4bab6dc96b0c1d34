/** Time, as far as this library uses it, behind one interface: tests move it by hand. */
export interface Clock {
  /** Milliseconds of a clock that only moves forward. Every deadline is counted on it. */
  nowMs(): number;

  /** Milliseconds of the wall clock. Only ever compared with `nowMs`, to notice that the process was suspended. */
  wallMs(): number;

  /**
   * Calls `fire` once, when `nowMs()` has reached `atMs`; never before. Does not keep the process alive.
   */
  at(atMs: number, fire: () => void): Timer;
}

/**
 * An instant, and how far the wall clock was ahead of the monotonic one when it was counted. Where the two have moved
 * apart since, the process was suspended, and the instant may have passed unnoticed (E19).
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

/** setTimeout takes no longer delay, and fires at once if given one (E43): longer waits are cut into slices. */
const MAX_DELAY_MS = 2_147_483_647;

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  at: (atMs, fire) => new SystemTimer(atMs, fire),
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
    const delayMs = Math.min(Math.max(Math.ceil(this.#atMs - performance.now()), 0), MAX_DELAY_MS);
    this.#timeout = setTimeout(() => {
      // Timers may fire up to a millisecond early by this clock, and a slice of a long wait always does.
      if (performance.now() < this.#atMs) this.#arm();
      else this.#fire();
    }, delayMs);
    this.#timeout.unref();
  }
}

/** Calls `end` once: when the clock has reached `atMs`, or when the signal aborts. Returns what calls that off. */
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
 * What the promise gives, or `undefined` if it takes longer than that, or than until the signal aborts; it goes on by
 * itself then.
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
  const first = await Promise.race([promise, over]);
  bound?.cancel();
  return first;
}

/** Resolves when the clock has reached `atMs`, or before that when the signal aborts. */
export const sleepUntil = (clock: Clock, atMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    atOrAborted(clock, atMs, signal, resolve);
  });

/** Resolves when everything that follows from the present turn has happened: what asks in one turn can go together. */
export const endOfTurn = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;

/** The pause after so many tries without an answer: it grows, with jitter. A signal ends it. */
export const pauseBeforeRepeat = (clock: Clock, repeats: number, signal?: AbortSignal): Promise<void> => {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(repeats, 10), MAX_PAUSE_MS);
  return sleepUntil(clock, clock.nowMs() + pauseMs * (0.5 + Math.random() / 2), signal);
};
