import type { Timer } from '../../clock.js';
import { EventQueue } from './event-queue.js';
import type { Happening } from './event-queue.js';
import type { Time } from './time.js';
import { turnOfEventLoop } from './turns.js';

/**
 * A caller of `advance` or `settle`. A caller of `advance` waits until all events up to `untilMs` have happened. A
 * caller of `settle` (`untilMs` is -Infinity) waits until no event is due and no message is on its way. While others
 * advance, the caller of `settle` goes on when the earliest of their goals is reached.
 */
interface Goal {
  readonly untilMs: number;
  readonly reached: () => void;
}

/**
 * How many turns that begin during a drain are served before the next event. Without a bound, a caller that begins a turn
 * in each turn would stop time.
 */
const MOST_NEW_TURNS = 10;

/**
 * Time that passes only when `advance` is called, and for the short time that a message takes. Events happen one after
 * the other, in the order of their instants. A turn of the event loop passes before each event: the callbacks of all
 * promises that earlier events have settled run first. So the same events have the same effects in each run.
 */
export class VirtualTime implements Time {
  readonly timeline: object = this;
  readonly #epochMs: number;
  readonly #queue = new EventQueue();
  /** What follows the present turn. An object for each, because one function may follow twice. */
  readonly #turns = new Set<{ readonly fire: () => void }>();
  #goals: Goal[] = [];
  #nowMs = 1_000;
  #count = 0;
  #messages = 0;
  #isRunning = false;
  readonly #ending = new AbortController();

  /** @param epochMs - The wall clock at the beginning, in ms. */
  constructor(epochMs: number) {
    this.#epochMs = epochMs;
  }

  get over(): AbortSignal {
    return this.#ending.signal;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#epochMs + this.#nowMs;
  }

  at(atMs: number, fire: () => void): Timer {
    const timer = this.#add(atMs, fire, false);
    if (atMs <= this.#nowMs) void this.#run();
    return timer;
  }

  deliverAt(atMs: number, deliver: () => void): Timer {
    const timer = this.#add(atMs, deliver, true);
    void this.#run();
    return timer;
  }

  afterTurn(fire: () => void): Timer {
    const turn = { fire };
    this.#turns.add(turn);
    void this.#run();
    return { cancel: () => this.#turns.delete(turn) };
  }

  async advance(ms: number): Promise<void> {
    await this.#reach(this.#nowMs + ms);
  }

  async settle(): Promise<void> {
    await this.#reach(-Infinity);
  }

  close(): void {
    this.#ending.abort();
    void this.#run();
  }

  #add(atMs: number, happen: () => void, isMessage: boolean): Timer {
    const order = (this.#count += 1);
    const happening: Happening = { atMs, order, isMessage, happen, isOver: false };
    this.#queue.add(happening);
    if (isMessage) this.#messages += 1;
    return {
      cancel: () => {
        this.#end(happening);
      },
    };
  }

  #end(happening: Happening): void {
    if (happening.isMessage && !happening.isOver) this.#messages -= 1;
    happening.isOver = true;
  }

  async #reach(untilMs: number): Promise<void> {
    await new Promise<void>((reached) => {
      this.#goals.push({ untilMs, reached });
      void this.#run();
    });
  }

  /**
   * Lets one event after the other happen, until no turn and no event is left to do. One run serves the goals of all
   * callers.
   */
  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    do await this.#drain();
    while (this.#step() || this.#turns.size > 0);
    this.#isRunning = false;
  }

  /** Runs the calls that were given to `afterTurn`. A turn of the event loop passes before each and after the last. */
  async #drain(): Promise<void> {
    for (let left = this.#turns.size + MOST_NEW_TURNS; left > 0; left -= 1) {
      await turnOfEventLoop();
      const [turn] = this.#turns;
      if (turn === undefined) return;
      this.#turns.delete(turn);
      turn.fire();
    }
    await turnOfEventLoop();
  }

  /**
   * Moves the clock to the next event and lets it happen. If no event may happen now, moves the clock to the earliest
   * goal of the callers, and tells each caller whose goal is reached. Returns false if there is no caller either.
   */
  #step(): boolean {
    const { first } = this.#queue;
    const untilMs = this.#nextGoalMs();
    if (first !== undefined && !this.over.aborted && this.#mayHappen(first, untilMs)) {
      this.#end(first);
      this.#queue.removeFirst();
      this.#nowMs = Math.max(this.#nowMs, first.atMs);
      first.happen();
      return true;
    }
    if (this.#goals.length === 0) return false;
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    const goals = this.#goals;
    this.#goals = goals.filter((goal) => goal.untilMs > untilMs);
    for (const goal of goals) if (goal.untilMs <= untilMs) goal.reached();
    return true;
  }

  /** The earliest goal of the callers of `advance`; -Infinity if there is none. */
  #nextGoalMs(): number {
    const goals = this.#goals.flatMap(({ untilMs }) => (untilMs === -Infinity ? [] : [untilMs]));
    return goals.length === 0 ? -Infinity : Math.min(...goals);
  }

  /**
   * While callers of `advance` wait, no event later than the earliest of their goals happens. So the clock shows
   * exactly that goal when its caller goes on.
   */
  #mayHappen({ atMs }: Happening, untilMs: number): boolean {
    return atMs <= Math.max(untilMs, this.#nowMs) || (untilMs === -Infinity && this.#messages > 0);
  }
}
