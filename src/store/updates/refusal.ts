import { QueueFullError } from '../../errors.js';
import type { Operation } from '../../protocol/operation.js';
import { codeOf } from '../outcome.js';
import type { Outcome, Refused, Unknown } from '../outcome.js';

/** The codes of errors for a document that would exceed MongoDB's maximum size. */
const TOO_LARGE_CODES: ReadonlySet<number> = new Set([
  10_334, // BSONObjectTooLarge
  17_419, // the document after an update
  17_420, // the document of an upsert
]);

/** The codes of errors that any operation on the collection would cause. */
const GENERAL_CODES: ReadonlySet<number> = new Set([
  13, // Unauthorized
  18, // AuthenticationFailed
  26, // NamespaceNotFound
  59, // CommandNotFound
  72, // InvalidOptions
  73, // InvalidNamespace
  115, // CommandNotSupported
  166, // CommandNotSupportedOnView
  323, // APIStrictError
  8_000, // AtlasError
]);

const isTooLarge = (error: unknown): boolean => TOO_LARGE_CODES.has(codeOf(error) ?? 0);

/**
 * Whether the server refused an update with an error that one of its operations may have caused. The errors of
 * `GENERAL_CODES` would come with any operation.
 */
export const concernsOperations = (outcome: Outcome<unknown>): boolean =>
  outcome.type === 'refused' && outcome.byServer && !GENERAL_CODES.has(codeOf(outcome.error) ?? 0);

/**
 * The refusal as the caller of one operation sees it. If the document has no room for one more waiter or lease, the
 * caller is told that the queue is full. If the document has no room for the nonce that a look writes to `wake`, the
 * look may be repeated: there is room again when a waiter or a holder leaves.
 */
export function refusalFor(name: string, operation: Operation, refused: Refused): Refused | Unknown {
  if (!isTooLarge(refused.error)) return refused;
  if (operation.type === 'extend') return { type: 'unknown', error: refused.error, maybeApplied: false };
  if (!('request' in operation)) return refused;
  const { maxMembers } = operation.request;
  return { ...refused, error: new QueueFullError(name, maxMembers, { cause: refused.error }) };
}
