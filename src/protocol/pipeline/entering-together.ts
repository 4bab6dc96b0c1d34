import { bind, literal, merge } from '../expressions.js';
import type { Fields, Stage } from '../expressions.js';
import type { Request } from '../operation.js';
import type { KindRules, StoredFields } from '../kind-rules.js';
import { entered, vacantFields } from './fast-path.js';
import type { Entering } from './fast-path.js';

export interface NamedEntering {
  readonly name: string;
  readonly operation: Entering;
}

/** The fields in which the requests of one update may differ. */
type OwnFields = 'id' | 'label' | 'why' | 'traceparent' | 'notAfter';

/** The fields that must be equal in all requests of one update: every field of `Request` except `OwnFields`. */
const TERMS: Record<Exclude<keyof Request, OwnFields>, true> = {
  process: true,
  leaseMs: true,
  retentionMs: true,
  keeps: true,
  maxMembers: true,
  mode: true,
  permits: true,
  limit: true,
  mustMatch: true,
  setsLimit: true,
  candidateId: true,
  value: true,
  transitionMs: true,
};
const TERM_NAMES = Object.keys(TERMS) as (keyof typeof TERMS)[];

export const haveSameTerms = (one: Request, other: Request): boolean =>
  TERM_NAMES.every((term) => one[term] === other[term]);

/**
 * The stages that give each of these locks to its request, if the lock is vacant. The effect is that of the fast path
 * of each request, without the creation of documents. The client sends the stages once, and the server parses them once
 * for all documents. With 64 locks, the client needs half the time of 64 fast paths, and the server a fifth (measured).
 *
 * @param requests - All with the same terms, each for another lock.
 */
export function enteringTogether(
  rules: KindRules,
  requests: readonly [NamedEntering, ...NamedEntering[]],
): readonly Stage[] {
  const names = requests.map(({ name }) => name);
  const owns = requests.map(({ operation: { request } }) => ownFieldsOf(request));
  const own = { $arrayElemAt: [literal(owns), { $indexOfArray: [literal(names), '$_id'] }] };
  const [{ operation }] = requests;
  const result = entered(rules, operation.request, {
    notAfter: '$$own.notAfter',
    lease: (terms) => merge('$$own.lease', terms),
  });
  return [{ $replaceWith: bind({ own }, result) }];
}

const ownFieldsOf = ({ id, label, why, traceparent, notAfter }: Request): Fields => ({
  notAfter,
  lease: {
    id,
    ...(label === undefined ? {} : { label }),
    ...(why === undefined ? {} : { why }),
    ...(traceparent === undefined ? {} : { traceparent }),
  },
});

/** A date in the past: if no request gets the lock, the document may be purged at once. */
const PURGE_AT_ONCE = new Date(0);

/**
 * The fields of a vacant lock. An upsert sets them on insert, and leaves a stored document as it is. The update that
 * follows lets the request of `operation` enter. The upsert costs the server less than a stage that creates the
 * document.
 */
export const vacantDocument = (rules: KindRules, operation: Entering): StoredFields => ({
  ...vacantFields(rules, operation),
  fence: 0n,
  queue: {},
  purgeAt: PURGE_AT_ONCE,
});
