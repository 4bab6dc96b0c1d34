import type { DriverClientOptions, DriverTopology } from '../driver-types.js';
import { shortened } from '../error-text.js';

/** The client options that `troubleOf` needs to explain why the driver knows no server. */
type Seeds = Pick<DriverClientOptions, 'hosts' | 'replicaSet'>;

/** How many different error messages of servers an explanation has at most. */
const MAX_ERRORS = 3;

/**
 * The trouble with the client's servers, as the driver's monitors report it; `undefined` if they have reported none.
 * The driver's own message often says only that the server selection timed out.
 */
export function troubleOf(
  { servers, type, compatibilityError }: DriverTopology,
  { hosts, replicaSet }: Seeds,
): string | undefined {
  if (compatibilityError !== undefined) return compatibilityError;
  // The driver may know no server any more, because it removes servers that belong to another replica set or to none.
  if (servers.size === 0) {
    const where = hosts.map(String).join(', ');
    return `no member of replica set ${JSON.stringify(replicaSet)} was found at ${where}`;
  }
  const each = [...servers.values()];
  const messages = new Set(each.flatMap(({ error }) => error?.message ?? []));
  if (messages.size > 0) return [...messages].slice(0, MAX_ERRORS).join('; ');
  if (type !== 'ReplicaSetNoPrimary') return undefined;
  const known = each.filter((server) => server.type !== 'Unknown');
  if (known.length === 0) return undefined;
  return `no primary among ${known.map((server) => `${server.address} (${server.type})`).join(', ')}`;
}

export interface Needs {
  /** `database.collection`. */
  readonly namespace: string;
  readonly actions: string;
}

const PRIVILEGES_PAGE = 'https://github.com/leasehold/leasehold/blob/main/docs/operations.md#privileges';

/**
 * A short copy of an error of the driver or the server. A server may repeat the whole command that it refuses, and a
 * driver lists everything that it knows about its servers. Pages of such output hide the one sentence that matters.
 *
 * The copy keeps the fields by which `outcomeOfError` sorts an error, because the copy may be sorted later, for
 * example by a quorum or by the supervisor of a change stream.
 */
class ShortenedError extends Error {
  readonly code?: number | string;
  readonly codeName?: string;

  constructor(message: string, original: DriverError) {
    super(message);
    this.name = original.name;
    const { code, codeName, errorLabels, keyPattern, errorResponse } = original;
    const collation = errorResponse?.collation;
    Object.assign(
      this,
      ...[{ code }, { codeName }, { errorLabels }, { keyPattern }].filter(isGiven),
      collation === undefined ? {} : { errorResponse: { collation } },
    );
  }
}

const isGiven = (field: object): boolean => Object.values(field).every((value) => value !== undefined);

interface DriverError extends Error {
  readonly code?: number | string;
  readonly codeName?: string;
  readonly errorLabels?: readonly string[];
  readonly keyPattern?: object;
  readonly errorResponse?: { readonly collation?: object };
  /** The servers as a failed server selection saw them. */
  readonly reason?: DriverTopology;
}

/**
 * Gives some errors a short message that says what is wrong or what to do. Name and code stay. Returns any other error
 * as it is.
 */
export function shortenedError(error: unknown, options: Seeds, needs: Needs): unknown {
  if (!(error instanceof Error)) return error;
  const original: DriverError = error;
  switch (original.name) {
    case 'MongoServerSelectionError': {
      const why = original.reason?.servers === undefined ? undefined : troubleOf(original.reason, options);
      return new ShortenedError(why ?? shortened(original.message), original);
    }
    case 'MongoNotConnectedError':
      return new ShortenedError(`the client is closed: ${original.message}`, original);
    case 'MongoServerError':
      return new ShortenedError(
        isUnauthorized(original) ? missing(needs) : shortened(original.message),
        original,
      );
    default:
      return original;
  }
}

const missing = ({ namespace, actions }: Needs): string =>
  `not authorized: needs ${actions} on ${namespace}; see ${PRIVILEGES_PAGE}`;

/**
 * Code 13 is Unauthorized. Atlas answers 8000 to most commands that it forbids, but also in other cases, so the message
 * decides.
 */
const isUnauthorized = ({ code, message }: DriverError): boolean =>
  code === 13 || (code === 8000 && /not (authorized|allowed)/i.test(message));
