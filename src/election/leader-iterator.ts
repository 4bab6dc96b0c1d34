import { keepAlive } from '../keep-alive.js';
import { StateMachine } from '../state-machine.js';
import type { Moves } from '../state-machine.js';
import type { LeaderInfo } from './leader-info.js';

type Next = IteratorResult<LeaderInfo | null, undefined>;

/**
 * The most unread leaders that are kept, to bound the memory. A caller that reads more slowly than leaders change
 * misses the oldest unread leaders.
 */
const MAX_UNREAD = 100;

type State = 'new' | 'observing' | 'over';

const MOVES: Moves<State> = {
  new: ['observing', 'over'],
  observing: ['over'],
  over: [],
};

const END: Next = { done: true, value: undefined };

/**
 * One iteration over leaders. It keeps the newest observed leaders, at most `MAX_UNREAD`, until the caller takes them
 * by `next`.
 *
 * - `new`: nothing is observed. → `observing`, by the first `next`; → `over`, if the iteration is ended before.
 * - `observing`: a `next` resolves with the next leader. → `over`, when the caller or a signal ends the iteration.
 * - `over`: every `next` resolves with the end, also every pending `next`. Unread leaders are dropped. Final.
 */
export class LeaderIterator implements AsyncIterableIterator<LeaderInfo | null, undefined> {
  readonly #begin: () => void;
  readonly #onEnd: () => void;
  readonly #isAwaited: boolean;
  readonly #shown: (LeaderInfo | null)[] = [];
  readonly #waiting: ((next: Next) => void)[] = [];
  readonly #state = new StateMachine<State>('new', MOVES);

  /**
   * @param isAwaited - Whether a caller awaits each leader, so that the process has to stay alive.
   * @param begin - Called by the first `next`, unless the iteration was ended before.
   * @param onEnd - Called once, at the end of an iteration that has begun.
   */
  constructor(isAwaited: boolean, begin: () => void, onEnd: () => void) {
    this.#isAwaited = isAwaited;
    this.#begin = begin;
    this.#onEnd = onEnd;
  }

  show(leader: LeaderInfo | null): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting({ done: false, value: leader });
      return;
    }
    this.#shown.push(leader);
    if (this.#shown.length > MAX_UNREAD) this.#shown.shift();
  }

  end(): void {
    if (this.#state.is('over')) return;
    const wasObserving = this.#state.is('observing');
    this.#state.to('over');
    for (const waiting of this.#waiting.splice(0)) waiting(END);
    if (wasObserving) this.#onEnd();
  }

  next(): Promise<Next> {
    if (this.#state.is('new')) {
      this.#state.to('observing');
      this.#begin();
    }
    const next = this.#next();
    return this.#isAwaited ? keepAlive(next) : next;
  }

  return(): Promise<Next> {
    this.end();
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #next(): Promise<Next> {
    if (this.#state.is('over')) return Promise.resolve(END);
    const shown = this.#shown.shift();
    if (shown !== undefined) return Promise.resolve({ done: false, value: shown });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
