// Folder `time`: the time of a simulation, virtual or real, and the random numbers of its seed.

import type { Timer } from '../../clock.js';
import type { Timeline } from '../../surroundings.js';

/** The time that all processes and members of a simulation share. */
export interface Time {
  readonly timeline: Timeline;
  nowMs(): number;
  wallMs(): number;
  at(atMs: number, fire: () => void): Timer;
  /** Like `at`, for a message on its way. Virtual time goes on by itself until the message has arrived. */
  deliverAt(atMs: number, deliver: () => void): Timer;
  /** Calls `fire` after the present turn of the event loop and all its microtasks. */
  afterTurn(fire: () => void): Timer;
  advance(ms: number): Promise<void>;
  /** Resolves when nothing more can happen until time passes. */
  settle(): Promise<void>;
  /** After this call no timer fires, and no message arrives. */
  close(): void;
  /** Aborts at `close`. */
  readonly over: AbortSignal;
}
