import { CorruptLockDocumentError, ProviderClosedError, StoreUnavailableError } from '../errors.js';
import type { LockProvider } from '../provider.js';
import { NOT_REVOKED } from './not-revoked.js';
import { json, refusal } from './responses.js';
import type { RevokeRequest } from './wire.js';

/** The most bytes of a request to revoke: a name and a reason of 1,024 bytes each, escaped, and an id. */
const MAX_BYTES = 16_384;

/** Carries out a request to revoke. The caller of this function has checked that the request may revoke. */
export async function revoke(locks: LockProvider, request: Request): Promise<Response> {
  if (request.method !== 'POST') return refusal(405, 'revoke takes POST', { allow: 'POST' });
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  // A browser lets a page of another site post a form without asking this server. Before the browser posts JSON for
  // that page, it asks this server by a preflight request, and the server refuses.
  if (type.trim().toLowerCase() !== 'application/json') return refusal(415, 'revoke takes application/json');
  try {
    const text = await textWithin(request, MAX_BYTES);
    if (text === null) return refusal(413, `revoke takes at most ${String(MAX_BYTES)} bytes`);
    const { name, ...options } = parsed(text);
    return json(200, await locks.revoke(name, options));
  } catch (error) {
    return refusalOf(error);
  }
}

/**
 * @throws `TypeError` if the text is no object in JSON. The provider checks the keys of the object and their values.
 */
function parsed(text: string): RevokeRequest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError('the request is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('the request is no object');
  return value as RevokeRequest;
}

function refusalOf(error: unknown): Response {
  if (error instanceof TypeError || error instanceof RangeError) return refusal(400, error.message);
  if (error instanceof StoreUnavailableError)
    return refusal(503, 'the store is unavailable', error.outcomeKnown ? { [NOT_REVOKED]: '' } : {});
  if (error instanceof ProviderClosedError) return refusal(503, 'the provider is closed');
  if (error instanceof CorruptLockDocumentError)
    return refusal(409, 'the stored document is not well-formed');
  return refusal(500, 'the revocation failed');
}

/** Returns the body as text; `null` if the body has more than `mostBytes` bytes. */
async function textWithin({ body }: Request, mostBytes: number): Promise<string | null> {
  if (body === null) return '';
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > mostBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
