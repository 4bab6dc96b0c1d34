import { systemClock } from '../../src/clock.js';
import type { Clock, Timer } from '../../src/clock.js';

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  readonly chance = systemClock.chance;
  #nowMs = 1_000;
  #wallMs = 1_000_000;
  #alarms: { readonly atMs: number; readonly fire: () => void }[] = [];

  afterTurn(fire: () => void): Timer {
    return systemClock.afterTurn(fire);
  }

  atEndOfTurn(fire: () => void): void {
    systemClock.atEndOfTurn(fire);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  at(atMs: number, fire: () => void): Timer {
    const alarm = { atMs, fire };
    this.#alarms.push(alarm);
    return {
      cancel: () => {
        this.#alarms = this.#alarms.filter((other) => other !== alarm);
      },
    };
  }

  get alarms(): number {
    return this.#alarms.length;
  }

  /** Both clocks move, and what falls due fires in its order. */
  advance(ms: number): void {
    this.moveWithoutTimers(ms);
    for (;;) {
      const [next] = this.#alarms.filter(({ atMs }) => atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) return;
      this.#alarms = this.#alarms.filter((other) => other !== next);
      next.fire();
    }
  }

  /** Time passes while the event loop is blocked. */
  moveWithoutTimers(ms: number): void {
    this.#nowMs += ms;
    this.#wallMs += ms;
  }

  /** The machine sleeps: only the wall clock goes on. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }
}
