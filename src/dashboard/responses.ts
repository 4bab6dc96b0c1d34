import { createHash } from 'node:crypto';
import { HTML, SCRIPT, STYLE } from './page-source.js';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * The page may run only its own script, may connect only to its own origin, and may be in no frame. Because of trusted
 * types, the script cannot turn text into markup.
 */
const POLICY = [
  `default-src 'none'`,
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  `connect-src 'self'`,
  `img-src data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types 'none'`,
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store, no-transform',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const respond = (
  status: number,
  type: string,
  body: string | ReadableStream<Uint8Array> | null,
  more: Readonly<Record<string, string>> = {},
): Response => new Response(body, { status, headers: { ...HEADERS, 'content-type': type, ...more } });

const PAGE = HTML.replace('/*style*/', () => STYLE).replace('/*script*/', () => SCRIPT);

export const page = (): Response => respond(200, 'text/html; charset=utf-8', PAGE);

/** Makes the response with the stream of events. `x-accel-buffering` keeps nginx from holding the events back. */
export const eventStream = (body: ReadableStream<Uint8Array>): Response =>
  respond(200, 'text/event-stream; charset=utf-8', body, { 'x-accel-buffering': 'no' });

export const json = (status: number, value: object): Response =>
  respond(status, 'application/json', JSON.stringify(value));

/** A refusal in one sentence, as plain text. */
export const refusal = (status: number, why: string, more?: Readonly<Record<string, string>>): Response =>
  respond(status, 'text/plain; charset=utf-8', `${why}\n`, more);

/** The same response without a body, for a HEAD request. */
export const withoutBody = ({ status, headers }: Response): Response =>
  new Response(null, { status, headers });
