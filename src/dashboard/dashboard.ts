// Folder `dashboard`: a page that shows all locks live, and the handler that serves it.

import { engineOf } from '../engine-of.js';
import { boolean, knownOptions, optional, orElse, outOfRange, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import type { LockProvider } from '../provider.js';
import { LiveBoard } from './live-board.js';
import { eventStream, page, refusal, withoutBody } from './responses.js';
import { revoke } from './revoking.js';

/** Options of {@link dashboard}. */
export interface DashboardOptions {
  /**
   * The path at which the page is, for example `/admin/locks`. It begins with a slash. The handler answers 404 outside
   * of it. Default: `/`.
   */
  basePath?: string | undefined;
  /** Whether the page may revoke holds. Default: false. */
  allowRevoke?: boolean | undefined;
  /**
   * Decides whether a request is answered. The function is called for each request to a path of the page, also for the
   * events and for revocations, with two exceptions that get 403 without this call: a request with an `Origin` other
   * than that of its own URL, and a request for events or a revocation whose `Sec-Fetch-Site` says that a page of
   * another origin made the request. If the function returns false or throws, the answer is 403. Default: every request
   * is answered.
   */
  authorize?: ((request: Request) => boolean | Promise<boolean>) | undefined;
}

/** Answers a request. The request and the response are objects of the Fetch standard. */
export type DashboardHandler = (request: Request) => Promise<Response>;

const KEYS: KeysOf<DashboardOptions> = { basePath: true, allowRevoke: true, authorize: true };

/** The most characters of a filter. The library stores no longer name or reason. */
const MAX_FILTER = 1_024;

/**
 * Makes a handler that serves a page with all locks of the provider's collection, live: holders, queues, elections,
 * jobs.
 *
 * Guaranteed: the handler reads the collection, and writes only to revoke, if `allowRevoke` is true. All viewers share
 * one change stream. If there is no change stream, the handler reads all locks again and again, and the page says so.
 * The stream and the reads end five seconds after the last viewer has left, and with `close()` of the provider. After
 * that, the handler sends only revocations to the server, until the next viewer comes. A slow viewer takes no more
 * memory than a fast one. At most 100 viewers are served at the same time. The next one gets 503, or an empty stream
 * if it asked before the hundredth was counted.
 *
 * A request with an `Origin` other than that of its own URL gets 403. So behind a proxy, the URL of the request has to
 * be the one that the browser has. The page shows names, labels and reasons of all processes. Without `authorize`,
 * everyone who reaches the handler sees them.
 *
 * Not promised: the paths of the events and of revocations, and their format. If a lock changes twice between two
 * reads, the first change may not be shown: a read begins at least 500 ms after the one before, unless that one failed.
 * The searches for filters take at most about a fifth of the time of the process. So with many locks and many filters,
 * the handler searches less often: the page may show what matched its filter many seconds ago, and a new filter waits
 * for its first search. While it waits, the page says so, and shows the state and the totals.
 *
 * @returns The handler. It does not reject.
 * @throws `TypeError` or `RangeError` for a wrong provider or a wrong option.
 */
export function dashboard(locks: LockProvider, options?: DashboardOptions): DashboardHandler {
  const engine = engineOf(locks);
  const given = knownOptions(options, 'dashboard', KEYS);
  const basePath = parseBasePath(orElse(given.basePath, '/'));
  const mayRevoke = boolean('allowRevoke', orElse(given.allowRevoke, false));
  const authorize = optional(given.authorize, (value) => {
    if (typeof value !== 'function') throw wrongType('authorize', 'a function', value);
    return value;
  });
  const board = new LiveBoard(engine, mayRevoke);

  const show = (request: Request, url: URL, route: string): Response => {
    if (!['GET', 'HEAD'].includes(request.method)) {
      return refusal(405, 'this path takes GET', { allow: 'GET, HEAD' });
    }
    if (route === '') return page();
    if (board.isClosed) return refusal(503, 'the provider is closed');
    if (board.isFull) return refusal(503, 'there are too many viewers', { 'retry-after': '10' });
    const filter = (url.searchParams.get('filter') ?? '').slice(0, MAX_FILTER);
    return eventStream(board.events(filter, request));
  };

  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const route = routeOf(url.pathname, basePath);
    if (route === undefined) return refusal(404, 'nothing is here');
    const origin = request.headers.get('origin');
    if (origin !== null && origin !== url.origin) return refusal(403, 'the origin is another one');
    if (route !== '' && isFromElsewhere(request)) return refusal(403, 'the request is from another site');
    if (!(await isAuthorized(authorize, request))) return refusal(403, 'not authorized');
    if (route !== 'revoke') return show(request, url, route);
    return mayRevoke ? await revoke(locks, request) : refusal(403, 'this dashboard is read-only');
  };

  return async (request) => {
    const response = await answer(request);
    return request.method === 'HEAD' ? withoutBody(response) : response;
  };
}

/** Whether the browser says that a page of another origin made the request. */
const isFromElsewhere = ({ headers }: Request): boolean =>
  ['cross-site', 'same-site'].includes(headers.get('sec-fetch-site') ?? '');

async function isAuthorized(authorize: DashboardOptions['authorize'], request: Request): Promise<boolean> {
  try {
    return authorize === undefined || (await authorize(request));
  } catch {
    return false;
  }
}

const ROUTES: readonly string[] = ['', 'events', 'revoke'];

/** Returns the path below the base path; `undefined` if the dashboard has no such path. */
function routeOf(path: string, basePath: string): string | undefined {
  if (path === basePath) return '';
  const route = path.startsWith(`${basePath}/`) ? path.slice(basePath.length + 1) : undefined;
  return route !== undefined && ROUTES.includes(route) ? route : undefined;
}

/** Returns the base path in the form that the URLs of requests have, without a slash at its end. */
function parseBasePath(path: unknown): string {
  if (typeof path !== 'string') throw wrongType('basePath', 'a string', path);
  if (!path.startsWith('/') || /[?#\\]|\/\//.test(path))
    throw outOfRange('basePath', 'a path that begins with a slash', path);
  return new URL(path, 'http://host').pathname.replace(/\/$/, '');
}
