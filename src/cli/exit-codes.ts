import { constants } from 'node:os';

/**
 * The exit codes of `leasehold` itself. `run` and `elect` exit with the code of their command instead, if the command
 * has ended, and the lock was neither revoked before that end nor lost before the release. Most of the codes here are
 * those of sysexits.h.
 */
export const EXIT = {
  ok: 0,
  negative: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  busy: 75,
  lost: 76,
  notPermitted: 77,
  configuration: 78,
  notExecutable: 126,
  notFound: 127,
} as const;

/** What each exit code means, for the manual and for the help. */
export const EXIT_CODE_MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  [
    '0',
    'success; `run` and `elect`: the command ended with 0, or SIGINT or SIGTERM ended a hold without a command',
  ],
  ['1', '`show`, `resize`: no such lock is stored; `doctor`: a check failed'],
  ['64', 'wrong usage: an unknown option, a missing argument, a value out of range'],
  ['69', 'the store is unavailable: it did not answer, or it refused'],
  ['70', 'an internal error, or a corrupt lock document'],
  ['75', 'the lock is busy, or the time is up; `run -E` sets another code'],
  ['76', 'the lock or the term was lost or revoked while it was held'],
  ['77', 'the user is not permitted to do this, or the authentication failed'],
  [
    '78',
    'wrong configuration: no URI, no database, no package that the driver needs, a lock of another kind, a semaphore of another limit',
  ],
  ['126', 'the command cannot be executed'],
  ['127', 'the command was not found'],
  ['128 + n', 'signal n ended the command, or ended the wait for the lock'],
  ['any other', 'the exit code of the command'],
];

/** A failure with a message for the user and an exit code. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Server codes: Unauthorized, AuthenticationFailed, and the code that Atlas uses for both. */
const NOT_PERMITTED: readonly unknown[] = [13, 18, 8000];

const BY_CODE: Readonly<Record<string, number>> = {
  ACQUIRE_TIMEOUT: EXIT.busy,
  QUEUE_FULL: EXIT.busy,
  LOCK_LOST: EXIT.lost,
  STORE_UNAVAILABLE: EXIT.unavailable,
  LOCK_KIND_MISMATCH: EXIT.configuration,
  SEMAPHORE_LIMIT_MISMATCH: EXIT.configuration,
  UNSUPPORTED_SERVER: EXIT.configuration,
};

/** Matches the names of the driver's errors for a wrong URI, a wrong option or a missing package. */
const WRONG_SETTINGS = /^Mongo(Parse|InvalidArgument|API|MissingCredentials|MissingDependency)Error$/;

/** The exit code for an error of this program, of the library or of the driver. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  if (!(error instanceof Error)) return EXIT.internal;
  if (causesOf(error).some(({ code }) => NOT_PERMITTED.includes(code))) return EXIT.notPermitted;
  const { code, name } = error as Error & { readonly code?: unknown };
  // The error of a request whose time was up has a cause only if the store did not answer at the end.
  if (code === 'ACQUIRE_TIMEOUT' && error.cause !== undefined) return EXIT.unavailable;
  if (typeof code === 'string' && code in BY_CODE) return BY_CODE[code] ?? EXIT.internal;
  if (WRONG_SETTINGS.test(name)) return EXIT.configuration;
  if (name.startsWith('Mongo')) return EXIT.unavailable;
  return EXIT.internal;
}

/**
 * Whether the library has refused an argument. Where nothing but arguments of the user is checked, this is wrong usage;
 * anywhere else it is a bug.
 */
export const isOfArgument = (error: unknown): error is Error =>
  error instanceof RangeError || error instanceof TypeError;

function causesOf(error: Error): readonly { readonly code?: unknown }[] {
  const causes: Error[] = [];
  for (let each: unknown = error; each instanceof Error && causes.length < 10; each = each.cause)
    causes.push(each);
  return causes as readonly { readonly code?: unknown }[];
}
