import type { Answer, Reply } from '../replica-set/reply.js';

/** An error with the name that the driver gives it. The library sorts errors by name, code and labels. */
class DriverError extends Error {
  readonly #labels = new Set<string>();

  constructor(name: string, message: string, details: object = {}) {
    super(message);
    this.name = name;
    Object.assign(this, details);
  }

  get errorLabels(): readonly string[] {
    return [...this.#labels];
  }

  addErrorLabel(label: string): void {
    this.#labels.add(label);
  }

  hasErrorLabel(label: string): boolean {
    return this.#labels.has(label);
  }
}

export const notConnected = (): Error =>
  new DriverError('MongoNotConnectedError', 'Client must be connected before running operations');

export const clientClosed = (): Error =>
  new DriverError('MongoClientClosedError', 'Operation interrupted because client was closed');

export const networkError = (message: string): Error => new DriverError('MongoNetworkError', message);

export const networkTimeout = (message: string): Error =>
  new DriverError('MongoNetworkTimeoutError', message);

/** The error of a command in flight on a connection to a member that the monitors have given up. */
export const interrupted = (): Error =>
  new DriverError('PoolClearedOnNetworkError', 'the connection was interrupted: the monitor got no answer');

export const selectionFailed = (timeoutMs: number, reason: object): Error =>
  new DriverError('MongoServerSelectionError', `Server selection timed out after ${String(timeoutMs)} ms`, {
    reason,
  });

/** The error for a call that the simulation cannot answer. The driver uses `MongoAPIError` for an invalid call. */
export const notSimulated = (error: Error): Error =>
  new DriverError('MongoAPIError', error.message, { cause: error });

export const serverError = (message: string, details: Answer): Error =>
  new DriverError('MongoServerError', message, {
    ...details,
    errorResponse: { errmsg: message, ...details },
  });

export function errorOf(reply: Exclude<Reply, { readonly type: 'answer' }>): Error {
  switch (reply.type) {
    case 'failure': {
      const { code, codeName, message, details } = reply;
      return serverError(message, { code, codeName, ...details });
    }
    case 'disconnected':
      return networkError(reply.message);
    case 'not-simulated':
      return notSimulated(reply.error);
  }
}

type WriteFailure = Answer & { readonly errmsg: string };

/** If the answer reports that the write concern is not met, throws the error that the driver throws for the command. */
export function throwIfWriteConcernFailed(answer: Answer): void {
  const { writeConcernError } = answer as { readonly writeConcernError?: WriteFailure };
  if (writeConcernError === undefined) return;
  const details = { ...writeConcernError, ...answer };
  throw new DriverError('MongoWriteConcernError', writeConcernError.errmsg, {
    ...details,
    errorResponse: details,
    result: answer,
  });
}

/**
 * If the answer reports a failed write, throws the error that a method of the driver's collection throws for it.
 * `db.command` does not throw for it, but returns the answer.
 */
export function throwIfWriteFailed(answer: Answer): void {
  const { writeErrors: [first] = [] } = answer as { readonly writeErrors?: readonly WriteFailure[] };
  if (first !== undefined) throw serverError(first.errmsg, first);
}
