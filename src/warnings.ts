import { inspect } from 'node:util';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';
import { shortened } from './errors.js';

/** How an event that tells a failure is said as a process warning. */
export interface Saying<Payload extends unknown[]> {
  /** The `code` of the warning. */
  readonly code: `LEASEHOLD_${string}`;
  /** One line that names the lock and what happened; `null` if it was expected. */
  readonly say: (...payload: Payload) => string | null;
  /** The error of the application's own code, whose stack the warning shows. */
  readonly errorOf?: (...payload: Payload) => unknown;
}

/** The events of an emitter that tell failures. */
export type Sayings<Events extends object> = {
  readonly [E in keyof Events]?: Events[E] extends unknown[] ? Saying<Events[E]> : never;
};

const PAGE = 'https://github.com/leasehold/leasehold/blob/main/docs/operations.md#warnings';

/** A failure that repeats must not flood the log of the process. */
const ONE_A_MINUTE_MS = 60_000;

/** What has been said of one event. */
interface Said {
  readonly atMs: number;
  /** How many more there were since then. */
  leftOut: number;
}

/**
 * Says failures that nobody listens for as process warnings of the type `LeaseholdWarning`: at most one a minute for each
 * event of an emitter, and the next one says how many were left out. It has no timer, so it keeps no process alive.
 */
export class UnheardFailures<Events extends object> {
  readonly #sayings: Sayings<Events>;
  readonly #clock: Clock;
  readonly #said = new Map<keyof Events, Said>();

  constructor(sayings: Sayings<Events>, clock: Clock = systemClock) {
    this.#sayings = sayings;
    this.#clock = clock;
  }

  tell(event: keyof Events, payload: readonly unknown[]): void {
    // The types of an event's payload and of its saying are the same, by `Sayings`.
    const saying = this.#sayings[event] as Saying<unknown[]> | undefined;
    const line = saying?.say(...payload) ?? null;
    if (saying === undefined || line === null) return;
    const nowMs = this.#clock.nowMs();
    const last = this.#said.get(event);
    if (last !== undefined && nowMs < last.atMs + ONE_A_MINUTE_MS) {
      last.leftOut += 1;
      return;
    }
    this.#said.set(event, { atMs: nowMs, leftOut: 0 });
    const more =
      last === undefined || last.leftOut === 0 ? '' : `; ${String(last.leftOut)} more since the last warning`;
    warn(`${line} (nobody listens for "${String(event)}"${more}; ${PAGE})`, {
      type: 'LeaseholdWarning',
      code: saying.code,
      detail: stackOf(saying.errorOf?.(...payload)),
    });
  }
}

/** A listener threw or rejected. */
export function warnOfListener(event: string, error: unknown): void {
  const detail = stackOf(error) ?? brief(error);
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

/** Whether the driver says that the owner of the client has closed it. */
export const isOfClosedClient = (error: unknown): boolean =>
  error instanceof Error && CLOSED_CLIENT_ERRORS.has(error.name);

/** An error in one line. Anything can be thrown, also what throws when it is looked at. */
export function brief(error: unknown): string {
  const said = safely(() =>
    error instanceof Error
      ? `${error.name}: ${error.message}`
      : inspect(error, { depth: 1, breakLength: Infinity }),
  );
  return shortened((said ?? 'what was thrown cannot be shown').replaceAll(/\s+/g, ' '));
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
