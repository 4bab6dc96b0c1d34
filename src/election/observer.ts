import type { LeaderInfo } from './leader-info.js';

/** One iteration: what it has been shown and has not taken yet. */
export class Observer {
  readonly #shown: (LeaderInfo | null)[] = [];
  #isOver = false;
  #wake: (() => void) | undefined;

  show(leader: LeaderInfo | null): void {
    this.#shown.push(leader);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The next one in order; `undefined`: there will be none. */
  async next(): Promise<LeaderInfo | null | undefined> {
    while (this.#shown.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#isOver ? undefined : this.#shown.shift();
  }
}
