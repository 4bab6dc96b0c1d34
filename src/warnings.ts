import { inspect } from 'node:util';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';
import { shortened } from './error-text.js';

/** The process warning for an event that reports a failure. */
export interface FailureWarning<Payload extends unknown[]> {
  readonly code: `LEASEHOLD_${string}`;
  /** Returns one line that says what happened; `null` if the failure was expected. */
  readonly message: (...payload: Payload) => string | null;
  /** Returns the error of the application's own code, whose stack the warning shows. */
  readonly errorOf?: (...payload: Payload) => unknown;
}

/** The events of an emitter that report failures, and the warning for each of them. */
export type FailureWarnings<Events extends object> = {
  readonly [E in keyof Events]?: Events[E] extends unknown[] ? FailureWarning<Events[E]> : never;
};

const PAGE = 'https://github.com/leasehold/leasehold/blob/main/docs/operations.md#warnings';

/** The least time between two warnings that one `OneAMinute` allows: a repeated failure must not flood the log. */
const ONE_A_MINUTE_MS = 60_000;

/** Lets one failure a minute cause a warning, and counts the others. */
class OneAMinute {
  #lastMs = -Infinity;
  #leftOut = 0;

  /**
   * Returns what the warning says of the failures that were left out: how many they were, or an empty text if there are
   * none. Returns `undefined` if there must be no warning.
   */
  next(nowMs: number): string | undefined {
    if (nowMs < this.#lastMs + ONE_A_MINUTE_MS) {
      this.#leftOut += 1;
      return undefined;
    }
    const more = this.#leftOut === 0 ? '' : `; ${String(this.#leftOut)} more since the last warning`;
    this.#lastMs = nowMs;
    this.#leftOut = 0;
    return more;
  }
}

/**
 * Reports a failure that has no listener as a process warning of the type `LeaseholdWarning`. Each event of an emitter
 * causes at most one warning a minute, and the next warning says how many were left out.
 */
export class UnheardFailures<Events extends object> {
  readonly #warnings: FailureWarnings<Events>;
  readonly #clock: Clock;
  readonly #limits = new Map<keyof Events, OneAMinute>();

  constructor(warnings: FailureWarnings<Events>, clock: Clock = systemClock) {
    this.#warnings = warnings;
    this.#clock = clock;
  }

  report(event: keyof Events, payload: readonly unknown[]): void {
    // This cast is safe, because the type `FailureWarnings` gives an event and its warning the same payload.
    const warning = this.#warnings[event] as FailureWarning<unknown[]> | undefined;
    const line = warning?.message(...payload) ?? null;
    if (warning === undefined || line === null) return;
    const limit = this.#limits.get(event) ?? new OneAMinute();
    this.#limits.set(event, limit);
    const more = limit.next(this.#clock.nowMs());
    if (more === undefined) return;
    warn(`${line} (no listener for "${String(event)}"${more}; ${PAGE})`, {
      type: 'LeaseholdWarning',
      code: warning.code,
      detail: stackOf(warning.errorOf?.(...payload)),
    });
  }
}

/** Warns of errors of telemetry, at most once a minute. */
export class TelemetryFailures {
  readonly #limit = new OneAMinute();

  report(error: unknown): void {
    const more = this.#limit.next(systemClock.nowMs());
    if (more === undefined) return;
    const message = `Telemetry failed, and nothing else did: ${oneLine(error)}${more}`;
    warn(message, { type: 'LeaseholdWarning', code: 'LEASEHOLD_TELEMETRY', detail: stackOf(error) });
  }
}

/** Warns that a listener threw an error, or that the promise of a listener rejected. */
export function warnOfListener(event: string, error: unknown): void {
  const detail = stackOf(error) ?? oneLine(error);
  warn(`A listener of the event "${event}" failed: ${detail}`, { type: 'LeaseholdListenerWarning' });
}

interface WarningOptions {
  readonly type: string;
  readonly code?: string;
  readonly detail?: string | undefined;
}

function warn(message: string, { type, code, detail }: WarningOptions): void {
  process.emitWarning(message, {
    type,
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined ? {} : { detail }),
  });
}

const CLOSED_CLIENT_ERRORS: ReadonlySet<string> = new Set([
  'MongoClientClosedError',
  'MongoNotConnectedError',
]);

/** Whether the driver reports that the application has closed the client. */
export const isOfClosedClient = (error: unknown): boolean =>
  error instanceof Error && CLOSED_CLIENT_ERRORS.has(error.name);

/** Shows an error in one line. Any value can be thrown, even a value that throws when it is inspected. */
export function oneLine(error: unknown): string {
  const shown = safely(() =>
    error instanceof Error
      ? `${error.name}: ${error.message}`
      : inspect(error, { depth: 1, breakLength: Infinity }),
  );
  return shortened((shown ?? 'the thrown value cannot be shown').replaceAll(/\s+/g, ' '));
}

const stackOf = (error: unknown): string | undefined =>
  safely(() => (error instanceof Error ? (error.stack ?? error.message) : undefined));

function safely(show: () => string | undefined): string | undefined {
  try {
    return show();
  } catch {
    return undefined;
  }
}
