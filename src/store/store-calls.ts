import type { Document } from 'mongodb';
import { momentNow, turnOver } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import { clientOf } from '../driver-types.js';
import type { DriverCommandOptions, DriverDb } from '../driver-types.js';
import { textOf } from '../error-text.js';
import { UnsupportedServerError } from '../errors.js';
import type { Report } from '../events.js';
import { AnswerLog } from './answer-log.js';
import { CallEnd } from './call-end.js';
import { Connection } from './connection.js';
import { codeOf, isNotImplemented, outcomeOfError } from './outcome.js';
import type { Outcome, Refused, Unknown } from './outcome.js';
import { PrimaryWatch } from './primary-watch.js';
import { TransitionLimiter } from './transition-limiter.js';
import { shortenedError } from './trouble.js';

/** How commands are encoded and replies are decoded, whatever the client's own BSON options are. */
export const BSON_OPTIONS = {
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: false,
  raw: false,
  serializeFunctions: false,
  ignoreUndefined: false,
  checkKeys: false,
} as const;

/**
 * `db.command` does not inherit the client's read preference and BSON options. The driver itself repeats a command
 * only if the server was overloaded and the labels of the error (`SystemOverloadedError`, `RetryableError`) allow it.
 * The library sends every other repeat.
 */
const COMMAND_OPTIONS = {
  ...BSON_OPTIONS,
  readPreference: 'primary',
} as const satisfies DriverCommandOptions;

interface Tolerance {
  /** The codes of expected errors, which no event reports. */
  readonly expected?: ReadonlySet<number>;
  /** If true, the command counts as done even if some or all of its updates failed. */
  readonly mayFailInPart?: boolean;
}

/** The purpose of a command, as a `storeError` event reports it. */
export type Purpose = 'transition' | 'extension' | 'read' | 'index' | 'hello';

/** Sends single commands to the store, each with a time bound and one of three outcomes. */
export class StoreCalls {
  readonly answers: AnswerLog;
  readonly #db: DriverDb;
  readonly #collectionName: string;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #primary: PrimaryWatch;
  readonly #connection: Connection;
  readonly #transitions: TransitionLimiter;
  /** The calls that have not ended. The caller of some of them may have gone (`CallEnd`). */
  readonly #open = new Set<CallEnd>();

  /**
   * @param boundMs - `storeTimeoutMs`. Only `answers` uses it, to decide when a failure is too old to count. The bound
   *   of each call is an argument of `run`.
   */
  constructor(db: DriverDb, collectionName: string, clock: Clock, report: Report, boundMs: number) {
    this.answers = new AnswerLog(boundMs);
    this.#db = db;
    this.#collectionName = collectionName;
    this.#clock = clock;
    this.#report = report;
    this.#primary = PrimaryWatch.join(clientOf(db));
    this.#connection = Connection.join(clientOf(db));
    this.#transitions = new TransitionLimiter(clientOf(db).options.maxPoolSize);
  }

  close(): void {
    for (const end of this.#open) end.closed();
    this.#primary.leave();
    this.#connection.leave();
  }

  onFollowed(callback: (error: Error) => void): () => void {
    return this.#primary.asking(callback);
  }

  /** The error for a store that has not answered. The message tells why, if the driver knows. */
  unanswered(boundMs?: number): Error {
    const { trouble } = this.#connection;
    if (boundMs === undefined) return new Error(trouble ?? 'no answer yet');
    const silence = `no answer within ${String(Math.round(boundMs))} ms`;
    return new Error(trouble === undefined ? silence : `${silence}: ${trouble}`);
  }

  shortened(error: unknown, actions: string): unknown {
    const namespace = `${this.#db.databaseName}.${this.#collectionName}`;
    return shortenedError(error, clientOf(this.#db).options, { namespace, actions });
  }

  /**
   * Runs one command, and bounds it by a timer of the library. A driver waits for ever for a stopped primary
   * (`socketTimeoutMS` is 0 by default), and a stopped server does not keep to `maxTimeMS`. The call also ends when
   * another primary replaces the present one. A transition first waits for its turn, and that wait counts towards the
   * bound. The command may outlive the call by at most `boundMs` (`CallEnd`), and keeps its turn until it ends.
   *
   * @param make - Makes the command just before it is sent, because the times in it are counted from the sending.
   */
  async run(
    during: Purpose,
    lockName: string | null,
    make: () => Document,
    boundMs: number,
    { expected, mayFailInPart = false }: Tolerance = {},
  ): Promise<Outcome<Document>> {
    const startedMs = this.#clock.nowMs();
    const sending = this.#connection.sending();
    let sentAt: Moment | undefined;
    let hasEnded = false;
    let leave: (() => void) | undefined;
    const end = this.#begin(boundMs, () => leave?.());
    try {
      if (during === 'transition') leave = await this.#transitions.enter(end.signal);
      // The call may have ended in the same turn in which it got its slot.
      end.signal.throwIfAborted();
      const command = make();
      sentAt = momentNow(this.#clock);
      const running = this.#connection.command(
        this.#db,
        during === 'hello' ? command : bounded(command, boundMs, end.sent.bind(end)),
        { ...COMMAND_OPTIONS, signal: end.signal },
      );
      // If the caller's time ends first, a later rejection of `running` must not be unhandled (R2).
      running
        .catch(() => undefined)
        .finally(() => {
          hasEnded = true;
          end.ended();
        });
      const value = await Promise.race([running, end.unanswered]);
      throwIfReplyFailed(value, mayFailInPart);
      this.answers.answered(this.#clock.nowMs());
      return { type: 'done', value, sentAt };
    } catch (error) {
      const failure = this.#failureOf(error, during);
      this.#note(failure, startedMs);
      if (expected?.has(codeOf(error) ?? 0) !== true) {
        this.#report('storeError', { lockName, during, error: failure.error });
      }
      if (failure.type === 'refused') return failure;
      // Nothing was sent: the transition was still waiting for its turn, or `make` threw.
      if (sentAt === undefined) return { ...failure, maybeApplied: false };
      if (sending.mayHaveBeenSent()) return failure;
      // No server was reachable. A driver that ignores the signal may still send the command when one appears, so the
      // command counts as not sent only if the driver has ended it by the next turn.
      await turnOver(this.#clock);
      return { ...failure, maybeApplied: failure.maybeApplied && !hasEnded };
    } finally {
      if (sentAt === undefined) {
        leave?.();
        end.ended();
      }
    }
  }

  #begin(boundMs: number, onEnded: () => void): CallEnd {
    const end = new CallEnd(this.#clock, boundMs, {
      unanswered: () => this.unanswered(boundMs),
      onFollowed: (callback) => this.#primary.asking(callback),
      ended: () => {
        this.#open.delete(end);
        onEnded();
      },
    });
    this.#open.add(end);
    return end;
  }

  #note(failure: Refused | Unknown, startedMs: number): void {
    const nowMs = this.#clock.nowMs();
    if (failure.type === 'unknown') this.answers.unanswered(startedMs, nowMs, failure.error);
    else if (failure.byServer) this.answers.answered(nowMs);
    else this.answers.refusedByDriver(failure.error);
  }

  #failureOf(error: unknown, during: Purpose): Refused | Unknown {
    const failure = outcomeOfError(error);
    const short = this.shortened(error, during === 'index' ? 'createIndex' : 'find, insert and update');
    if (failure.type === 'unknown' || !isNotImplemented(error)) return { ...failure, error: short };
    const detail = `The server lacks what locks need: ${textOf(short)}`;
    return { ...failure, error: new UnsupportedServerError(null, detail, short) };
  }
}

/**
 * The command with a bound for the server. The driver reads the fields of a command when it puts the command on a
 * connection; a driver that reads them earlier only makes the command end earlier.
 */
const bounded = (command: Document, boundMs: number, onRead: () => void): Document => ({
  ...command,
  get maxTimeMS() {
    onRead();
    return Math.ceil(boundMs);
  },
});

/** A command may succeed and still report a missed write concern (E16), or a document that could not be written. */
function throwIfReplyFailed(reply: Document, mayFailInPart: boolean): void {
  const { writeConcernError, writeErrors } = reply as {
    writeConcernError?: { code?: number; errmsg?: string };
    writeErrors?: readonly { code?: number; errmsg?: string }[];
  };
  if (writeConcernError !== undefined) {
    throw Object.assign(new Error(writeConcernError.errmsg), { name: 'MongoWriteConcernError' });
  }
  const [first] = writeErrors ?? [];
  if (first !== undefined && !mayFailInPart) {
    throw Object.assign(new Error(first.errmsg), { name: 'MongoServerError', code: first.code });
  }
}
