import type { MongoClient, MongoServerSelectionError } from 'mongodb';

import { textOf } from '../error-text.js';
import { CommandFailure, EXIT, exitCodeOf } from './exit-codes.js';
import { secretsIn, withoutSecrets } from './secrets.js';

/** The hosts that the connection string names, without the credentials. */
export function hostsIn({ options }: MongoClient): string {
  const { srvHost, hosts } = options as { srvHost?: string | undefined; hosts: readonly object[] };
  return srvHost ?? hosts.map(String).join(', ');
}

/**
 * The failure of a client that could not be made or could not connect. The driver may repeat parts of the connection
 * string in such an error, so the secrets are hidden in it.
 */
export function connectionFailure(error: unknown, uri: string, client?: MongoClient): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const isOfString = client === undefined && (error instanceof TypeError || error instanceof URIError);
  const code = isOfString ? EXIT.configuration : exitCodeOf(error);
  const message = client !== undefined && isOfSelection(error) ? selectionText(error, client) : textOf(error);
  return new CommandFailure(code, withoutSecrets(message, secretsIn(uri)), { cause: error });
}

const isOfSelection = (error: unknown): error is MongoServerSelectionError =>
  error instanceof Error && error.name === 'MongoServerSelectionError';

/** Says why each server cannot be used. The driver's own text says it of one server, or of none. */
function selectionText({ message, reason }: MongoServerSelectionError, client: MongoClient): string {
  const servers = [...(reason?.servers.values() ?? [])];
  const reasons = servers.map(
    ({ address, error, type }) =>
      `${address}: ${error?.message ?? (type === 'Unknown' ? 'no answer' : `it is ${type}, and no primary is known`)}`,
  );
  // The driver drops a server that says it is in another replica set.
  const { replicaSet } = client.options as { replicaSet?: string | undefined };
  const why =
    reasons.length > 0 || replicaSet === undefined
      ? reasons.join('; ')
      : `none of them is a member of the replica set ${JSON.stringify(replicaSet)}`;
  const what = `no server of ${hostsIn(client)} can be used (${why === '' ? message : why})`;
  return `${what}; check the connection string, and whether the servers run and can be reached`;
}
