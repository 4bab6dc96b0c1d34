import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WebServer extends AsyncDisposable {
  /** The origin, for example `http://127.0.0.1:4711`. */
  readonly url: string;
}

/** @param listensOn - The IP address on which the server listens. */
export type WebHandler = (request: Request, listensOn: string) => Promise<Response>;

/** How long a browser may take to send a request, in ms. */
const REQUEST_MS = 10_000;

/** How often Node.js looks for requests that take longer than `REQUEST_MS`, in ms. The default of Node.js is 30 s. */
const LOOK_MS = 5_000;

/**
 * The most open connections: twice the most viewers of the dashboard. Each viewer has one connection for its events,
 * and sends revocations over another one.
 */
const MAX_CONNECTIONS = 200;

/** The most open connections from one address, so that one machine cannot take all connections. */
const MAX_PER_ADDRESS = 50;

/** The most bytes of the body of a request. The handler of the dashboard accepts fewer. */
const MAX_BODY_BYTES = 65_536;

/** The most bytes that are read of a body that is too large. A client that sends more may get no answer. */
const MAX_READ_BYTES = 1_048_576;

/** The header of each refusal. A client that is refused again and again would otherwise keep its connection. */
const CLOSE = { connection: 'close' };

/** Serves a handler by `node:http`. The handler takes requests and returns responses of the Fetch standard. */
export async function startWebServer(
  { host, port }: { readonly host: string; readonly port: number },
  handler: WebHandler,
): Promise<WebServer> {
  // Node.js bounds the time of the headers by `requestTimeout` too.
  const limits = { requestTimeout: REQUEST_MS, connectionsCheckingInterval: LOOK_MS };
  const server = createServer(limits);
  server.maxConnections = MAX_CONNECTIONS;
  limitEachAddress(server);
  server.listen(port, host);
  await once(server, 'listening');
  const { address, port: bound, family } = server.address() as AddressInfo;
  server.on('request', (incoming, outgoing) => {
    void answer((request) => handler(request, address), incoming, outgoing);
  });
  const name = family === 'IPv6' ? `[${address}]` : address;
  return { url: `http://${name}:${bound}`, [Symbol.asyncDispose]: () => close(server) };
}

/** Closes a new connection from an address that has `MAX_PER_ADDRESS` connections already. */
function limitEachAddress(server: Server): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const { remoteAddress: address = '' } = socket;
    const count = (open.get(address) ?? 0) + 1;
    if (count > MAX_PER_ADDRESS) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 0) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  outgoing.on('close', () => {
    left.abort();
  });
  try {
    // Reads the body before the answer: if a connection is closed with unread bytes, the answer may be lost.
    const body = await bodyOf(incoming);
    const request = body === null ? undefined : requestOf(incoming, body, left.signal);
    const response = request === undefined ? refusal(body === null) : await handler(request);
    await send(response, outgoing, left.signal);
  } catch {
    // The answer has no text, because the message of the error could tell the client what the client must not see.
    if (!outgoing.headersSent) outgoing.writeHead(500, CLOSE);
    outgoing.end();
  }
}

const refusal = (isTooLarge: boolean): Response =>
  isTooLarge
    ? new Response('the body is too large\n', { status: 413 })
    : new Response('bad request\n', { status: 400 });

/** Returns the body, or `null` if the body has too many bytes. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  // Without this option, the `break` would close the connection before the answer.
  for await (const part of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_READ_BYTES) break;
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  return bytes > MAX_BODY_BYTES ? null : Buffer.concat(parts);
}

/** Matches a host without characters that begin or end another part of a URL. */
const HOST = /^[^\s/\\?#@]+$/;

/** Makes the request for the handler; `undefined` if the client sent no legal URL, host or method. */
function requestOf(incoming: IncomingMessage, body: Buffer, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', headers } = incoming;
  const { host = '' } = headers;
  const address = `http://${host}${url}`;
  if (!HOST.test(host) || !url.startsWith('/') || !URL.canParse(address)) return undefined;
  const isRead = method === 'GET' || method === 'HEAD';
  const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  try {
    return new Request(address, {
      ...{ method, headers: sent, signal },
      ...(isRead ? {} : { body: new Uint8Array(body) }),
    });
  } catch {
    // The Fetch standard forbids some methods, for example TRACE.
    return undefined;
  }
}

/** Sends a response, no faster than the client reads. Cancels the body when the client has left. */
async function send(response: Response, outgoing: ServerResponse, left: AbortSignal): Promise<void> {
  outgoing.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    ...(response.ok ? {} : CLOSE),
  });
  if (response.body === null) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  left.addEventListener('abort', cancel);
  if (left.aborted) cancel();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || left.aborted) break;
    if (!outgoing.write(value)) await once(outgoing, 'drain', { signal: left });
  }
  outgoing.end();
}
