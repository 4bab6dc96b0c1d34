const HIDDEN = '***';

/** Matches the names of those parameters of a connection string whose values are secret. */
const SECRET_PARAMETER = /password|secret|token|authMechanismProperties/i;

/**
 * The secrets in a connection string, each as it is written and decoded. The longest comes first, so that a secret that
 * contains another one is hidden as a whole. The string may be malformed, so everything from the first colon after
 * `://` to the last `@` before the parameters counts as the password.
 */
export function secretsIn(uri: string): readonly string[] {
  const [, authority = '', query = ''] = /^[^:]*:\/\/([^?]*)\??(.*)$/s.exec(uri) ?? [];
  const credentials = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  const password = credentials.includes(':') ? credentials.slice(credentials.indexOf(':') + 1) : '';
  const parameters = query.split('&').map((pair) => {
    const [key = '', ...value] = pair.split('=');
    return SECRET_PARAMETER.test(key) ? value.join('=') : '';
  });
  const encoded = [password, ...parameters];
  const all = [...encoded, ...encoded.map(decoded)].filter((secret) => secret !== '');
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}

export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text);

/**
 * Matches what looks like a connection string within a message, without its scheme. Any process chooses texts that
 * messages show, and with the scheme, this search could take a time that is quadratic in their length.
 */
const CONNECTION_STRING = /:\/\/\S+/g;

/** A longer connection string is hidden as a whole, because hiding all of its secrets one by one may take long. */
const LONGEST = 4_096;

/**
 * Hides the secrets of connection strings in a message. The same words elsewhere stay: a password may also be an ordinary
 * word, and the place where such a word is missing would tell it.
 *
 * @param uri - The connection string of the command, which may have blanks.
 */
export function withoutSecretsOfStrings(message: string, uri: string): string {
  const isWhole = uri.includes('://');
  const known = isWhole ? message.replaceAll(uri, () => withoutSecrets(uri, secretsIn(uri))) : message;
  return known.replaceAll(CONNECTION_STRING, (each) =>
    each.length > LONGEST ? `://${HIDDEN}` : withoutSecrets(each, secretsIn(each)),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
