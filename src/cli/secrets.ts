const HIDDEN = '***';

/** Parameters of a connection string whose values are secret. */
const SECRET_PARAMETER = /password|secret|token|authMechanismProperties/i;

/**
 * The secrets in a connection string, longest first. The string may be malformed, so the password is taken to reach up
 * to the last `@` before the parameters.
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

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
