import { sleepUntil, systemClock } from '../../clock.js';
import type { Timer } from '../../clock.js';
import type { Time } from './time.js';
import { turnOfEventLoop } from './turns.js';

export class RealTime implements Time {
  readonly timeline = 'real';
  #messages = 0;
  readonly #ending = new AbortController();

  get over(): AbortSignal {
    return this.#ending.signal;
  }

  nowMs(): number {
    return systemClock.nowMs();
  }

  wallMs(): number {
    return systemClock.wallMs();
  }

  at(atMs: number, fire: () => void): Timer {
    return systemClock.at(atMs, () => {
      if (!this.over.aborted) fire();
    });
  }

  deliverAt(atMs: number, deliver: () => void): Timer {
    this.#messages += 1;
    let isPending = true;
    const end = (): void => {
      if (isPending) this.#messages -= 1;
      isPending = false;
    };
    const timer = this.at(atMs, () => {
      end();
      deliver();
    });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  afterTurn(fire: () => void): Timer {
    return systemClock.afterTurn(fire);
  }

  async advance(ms: number): Promise<void> {
    await sleepUntil(systemClock, systemClock.nowMs() + ms);
  }

  async settle(): Promise<void> {
    do await turnOfEventLoop();
    while (this.#messages > 0 && !this.over.aborted);
  }

  close(): void {
    this.#ending.abort();
  }
}
