// Folder `processes`: the processes of a simulation, each with its own clock, random numbers and network.

import { systemClock } from '../../clock.js';
import type { Clock, Timer } from '../../clock.js';
import type { Surroundings, Timeline } from '../../surroundings.js';
import type { SeededChance } from '../time/seeded-chance.js';
import type { Time } from '../time/time.js';

/** The shortest and the longest time that a message takes, in ms. */
const LEAST_LATENCY_MS = 0.05;
const MOST_LATENCY_MS = 0.4;

/**
 * One process of a simulation. It can stand still (`freeze`): then its timers do not fire, its turns do not end, and
 * arriving messages wait in its inbox. It can be cut off (`cut`): then it goes on, but every message from it or to it
 * that would arrive meanwhile is lost.
 */
export class SimulatedProcess implements Surroundings {
  readonly clock: Clock;
  readonly processName: string;
  readonly #time: Time;
  readonly #chance: SeededChance;
  #isFrozen = false;
  #isCut = false;
  /** The timers and the ends of turns that were due while the process stood still. */
  readonly #due: (() => void)[] = [];
  /** What the process hears and sends when it goes on: messages, and the news that its network was healed. */
  readonly #inbox: (() => void)[] = [];

  constructor(time: Time, chance: SeededChance, processName: string) {
    this.#time = time;
    this.#chance = chance;
    this.processName = processName;
    this.clock = {
      nowMs: () => time.nowMs(),
      wallMs: () => time.wallMs(),
      at: (atMs, fire) => this.#timer(fire, (ring) => time.at(atMs, ring)),
      afterTurn: (fire) => this.#timer(fire, (ring) => time.afterTurn(ring)),
      atEndOfTurn: (fire) => {
        systemClock.atEndOfTurn(this.#whenAwake(this.#due, fire));
      },
      chance,
    };
  }

  get timeline(): Timeline {
    return this.#time.timeline;
  }

  get over(): AbortSignal {
    return this.#time.over;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  /** The due timers fire first. Then the process goes through the messages in its inbox. */
  thaw(): void {
    this.#isFrozen = false;
    for (const backlog of [this.#due, this.#inbox]) {
      for (const each of backlog.splice(0)) {
        this.#time.deliverAt(this.#time.nowMs(), this.#whenAwake(backlog, each));
      }
    }
  }

  cut(): void {
    this.#isCut = true;
  }

  heal(): void {
    this.#isCut = false;
  }

  /** Sends a message to a member. A process that stands still sends the message when it goes on. */
  send(arrive: () => void): void {
    this.hear(() => {
      this.#time.deliverAt(this.#time.nowMs() + this.#latencyMs(), this.#unlessCut(arrive));
    });
  }

  /**
   * Delivers a message of a member to this process.
   *
   * @param delayMs - Added to the time that the message takes. Virtual time passes on its own for a message without a
   *   delay; for a message with a delay, the test has to advance the time.
   */
  receive(arrive: () => void, delayMs = 0): void {
    const deliver = this.#unlessCut(this.#whenAwake(this.#inbox, arrive));
    const atMs = this.#time.nowMs() + this.#latencyMs() + delayMs;
    if (delayMs > 0) this.#time.at(atMs, deliver);
    else this.#time.deliverAt(atMs, deliver);
  }

  /** Tells this process something at once. A process that stands still hears it when it goes on. */
  hear(run: () => void): void {
    this.#whenAwake(this.#inbox, run)();
  }

  #latencyMs(): number {
    return this.#chance.between(LEAST_LATENCY_MS, MOST_LATENCY_MS);
  }

  /** A timer that `start` sets. If it is due while the process stands still, it fires when the process goes on. */
  #timer(fire: () => void, start: (ring: () => void) => Timer): Timer {
    let isCancelled = false;
    const ring = (): void => {
      if (!isCancelled) fire();
    };
    const timer = start(this.#whenAwake(this.#due, ring));
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  #unlessCut(arrive: () => void): () => void {
    return () => {
      if (!this.#isCut) arrive();
    };
  }

  /** Returns a function that calls `run`. While the process stands still, `run` waits in the backlog. */
  #whenAwake(backlog: (() => void)[], run: () => void): () => void {
    return () => {
      if (this.#isFrozen) backlog.push(run);
      else run();
    };
  }
}
