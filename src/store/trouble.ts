import type { MongoClientOptions, TopologyDescription } from 'mongodb';
import { shortened } from '../errors.js';

/** What a description of a client's servers needs of the client's options. */
type Seeds = Pick<MongoClientOptions, 'replicaSet'> & { readonly hosts: readonly unknown[] };

/** More servers than this say nothing new. */
const MAX_ERRORS = 3;

/**
 * Why no server could be asked, as the driver's monitors found out; `undefined` if they have not found anything yet. The
 * driver's own message often says only that the selection timed out.
 */
export function troubleOf(
  { servers, type, compatibilityError }: TopologyDescription,
  { hosts, replicaSet }: Seeds,
): string | undefined {
  if (compatibilityError !== undefined) return compatibilityError;
  // The driver strikes out servers of another replica set, or of none.
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

/** What a refusal by the server says of what the user lacks. */
export interface Needs {
  /** `database.collection`. */
  readonly namespace: string;
  /** The actions that a user needs there. */
  readonly actions: string;
}

const PRIVILEGES_PAGE = 'https://github.com/leasehold/leasehold/blob/main/docs/operations.md#privileges';

/**
 * An error of the driver, or of the server, without what makes it long. A server repeats the command that it refuses,
 * and a driver lists all that it knows of its servers: pages of output that hide the one sentence.
 */
class BriefError extends Error {
  readonly code?: number | string;
  readonly codeName?: string;

  constructor(message: string, original: DriverError) {
    super(message);
    this.name = original.name;
    if (original.code !== undefined) this.code = original.code;
    if (original.codeName !== undefined) this.codeName = original.codeName;
  }
}

interface DriverError extends Error {
  readonly code?: number | string;
  readonly codeName?: string;
  /** What a server selection that failed knew of the servers. */
  readonly reason?: TopologyDescription;
}

/** The same error as it is told: name, code and codeName stay, and a message that says what to do. */
export function brief(error: unknown, options: Seeds, needs: Needs): unknown {
  if (!(error instanceof Error)) return error;
  const original: DriverError = error;
  switch (original.name) {
    case 'MongoServerSelectionError': {
      const why = original.reason?.servers === undefined ? undefined : troubleOf(original.reason, options);
      return new BriefError(why ?? shortened(original.message), original);
    }
    case 'MongoNotConnectedError':
      return new BriefError(`the client is closed: ${original.message}`, original);
    case 'MongoServerError':
      return new BriefError(
        isUnauthorized(original) ? missing(needs) : shortened(original.message),
        original,
      );
    default:
      return original;
  }
}

const missing = ({ namespace, actions }: Needs): string =>
  `not authorized: needs ${actions} on ${namespace}; see ${PRIVILEGES_PAGE}`;

/** In words of several servers: 13 is Unauthorized, 8000 what Atlas answers to most that it does not allow. */
const isUnauthorized = ({ code, message }: DriverError): boolean =>
  code === 13 || (code === 8000 && /not (authorized|allowed)/i.test(message));
