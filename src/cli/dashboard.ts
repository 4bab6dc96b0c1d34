import { randomBytes, timingSafeEqual } from 'node:crypto';

import { dashboard as makeHandler } from '../dashboard/index.js';
import { isLocalHost, openInBrowser } from './browsing.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { CommandFailure, EXIT, exitCodeOf } from './exit-codes.js';
import { Interrupted, Interruption } from './interruption.js';
import { orAborted } from './or-aborted.js';
import { startWebServer } from './web-server.js';
import type { WebHandler, WebServer } from './web-server.js';

export interface DashboardCommandOptions extends CommonOptions {
  readonly port: number;
  readonly host: string;
  readonly allowRevoke?: boolean | undefined;
  readonly open?: boolean | undefined;
}

const TOKEN_BYTES = 24;

/**
 * Serves the dashboard until a signal comes, once the store has answered. Prints the URL of the page; the token is a part
 * of the URL.
 */
export async function dashboard(options: DashboardCommandOptions): Promise<number> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold dashboard', interruption });
  const { locks, output } = session;
  await firstRead(session, signal);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const asked = new AbortController();
  const handler = makeHandler(locks, { basePath: `/${token}`, allowRevoke: options.allowRevoke });
  await using server = await listen(options, async (request, listensOn) => {
    const { host, pathname } = new URL(request.url);
    // Prevents DNS rebinding: another site can make its domain name resolve to this machine, but its requests still
    // have that name as their host.
    if (!isLocalHost(host, { given: options.host, listensOn })) return refusal('the host is another one');
    if (!hasToken(pathname, token)) return refusal('the token is missing or wrong');
    asked.abort();
    return await handler(request);
  });
  const url = `${server.url}/${token}/`;
  if (output.isJson) output.row({ url });
  else output.line(url);
  await using page = options.open === true ? await openInBrowser(url, asked.signal) : undefined;
  void page?.trouble.then((trouble) => {
    if (trouble !== undefined)
      output.say(`the browser has not asked for the page yet: ${trouble}; open the URL yourself`);
  });
  return await orAborted(new Promise<never>(() => undefined), signal).catch((reason: unknown) => {
    if (reason instanceof Interrupted && ['SIGINT', 'SIGTERM'].includes(reason.signalName)) return EXIT.ok;
    throw reason;
  });
}

/**
 * Reads the first locks. A store that does not answer ends the command, as it ends other commands. After any other failure,
 * such as a missing privilege, the page is served and shows that it is unavailable.
 */
async function firstRead({ locks }: Session, signal: AbortSignal): Promise<void> {
  try {
    await orAborted(locks.list().next(), signal);
  } catch (error) {
    if (signal.aborted || exitCodeOf(error) === EXIT.unavailable) throw error;
  }
}

async function listen({ host, port }: DashboardCommandOptions, handler: WebHandler): Promise<WebServer> {
  try {
    return await startWebServer({ host, port }, handler);
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is in use' : message;
    throw new CommandFailure(EXIT.configuration, `cannot listen on ${host}, port ${port}: ${why}`, { cause });
  }
}

/**
 * Whether the first part of the path is the token. The time of the comparison does not show where the two texts differ.
 */
function hasToken(pathname: string, token: string): boolean {
  const given = Buffer.from(pathname.split('/')[1] ?? '');
  const expected = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const refusal = (why: string): Response =>
  new Response(`${why}\n`, { status: 403, headers: { 'cache-control': 'no-store' } });
