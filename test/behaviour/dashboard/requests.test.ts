import { createHash } from 'node:crypto';

import { describe, expect, it, vi } from 'vitest';

import { dashboard } from '../../../src/dashboard/index.js';
import type { DashboardHandler, DashboardOptions } from '../../../src/dashboard/index.js';
import { LockProvider, StoreUnavailableError } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { eventually } from '../../../lab/patience.js';
import { whenTestEnds } from '../../support/current-test.js';

const ORIGIN = 'https://shop.example';

interface Served {
  readonly db: ReturnType<MemoryReplicaSet['db']>;
  readonly locks: LockProvider;
  readonly get: (path: string, init?: RequestInit) => Promise<Response>;
  readonly post: (body: unknown, init?: RequestInit) => Promise<Response>;
}

/** A handler on a replica set in memory. */
function served(options?: DashboardOptions): Served {
  const set = new MemoryReplicaSet({ seed: 11 });
  const db = set.db('app');
  const locks = new LockProvider(db);
  whenTestEnds(async () => {
    await locks.close({ drainMs: 0 });
    await set.close();
  });
  const handler: DashboardHandler = dashboard(locks, options);
  const get: Served['get'] = (path, init) => handler(new Request(`${ORIGIN}${path}`, init));
  const post: Served['post'] = (body, init) =>
    get(`${options?.basePath ?? ''}/revoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  return { db, locks, get, post };
}

const statusOf = async (response: Promise<Response>): Promise<number> => {
  const { status, body } = await response;
  await body?.cancel();
  return status;
};

describe('the paths of a dashboard', () => {
  it('has the page at its base path, with and without a slash, and nothing elsewhere', async () => {
    const { get } = served({ basePath: '/admin/locks/' });
    for (const path of ['/admin/locks', '/admin/locks/', '/admin/locks?x=1']) {
      const response = await get(path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await response.text()).toMatch(/^<!doctype html>/);
    }
    for (const path of [
      '/',
      '/admin',
      '/admin/locksmith',
      '/admin/locks/x',
      '/events',
      '/admin/locks/events/x',
    ]) {
      expect([path, await statusOf(get(path))]).toEqual([path, 404]);
    }
  });

  it('is at the root without a base path', async () => {
    const { get } = served();
    expect(await statusOf(get('/'))).toBe(200);
    expect(await statusOf(get('/x'))).toBe(404);
  });

  it('answers HEAD without a body, and other methods with 405', async () => {
    const { get } = served({ allowRevoke: true });
    for (const path of ['/', '/events']) {
      const head = await get(path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      const posted = await get(path, { method: 'POST' });
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
    expect(await statusOf(get('/revoke'))).toBe(405);
  });

  it('answers although the body of a revocation breaks off, or was read before', async () => {
    const authorize = async (request: Request): Promise<boolean> => (await request.text()) !== '';
    expect(await statusOf(served({ allowRevoke: true, authorize }).post({ name: 'x' }))).toBe(400);
    const body = new ReadableStream({
      pull: (controller) => {
        controller.error(new Error('the client has gone'));
      },
    });
    const streamed = { body, duplex: 'half' } as RequestInit;
    expect(await statusOf(served({ allowRevoke: true }).post({ name: 'x' }, streamed))).toBe(500);
  });

  it('answers events of a closed provider with 503', async () => {
    const { locks, get } = served();
    await locks.close();
    expect(await statusOf(get('/events'))).toBe(503);
    const late = dashboard(locks);
    expect(await statusOf(late(new Request(`${ORIGIN}/events`)))).toBe(503);
  });

  it('serves at most 100 viewers at the same time', async () => {
    const { get } = served();
    const viewers = await Promise.all(Array.from({ length: 100 }, () => get('/events')));
    const readers = viewers.map(({ body }) => (body as ReadableStream<Uint8Array>).getReader());
    await Promise.all(readers.map((reader) => reader.read()));
    expect(await statusOf(get('/events'))).toBe(503);
    await readers[0]?.cancel();
    expect(await statusOf(get('/events'))).toBe(200);
    await Promise.all(readers.map((reader) => reader.cancel()));
  });
});

const DENYING: readonly (readonly [string, () => boolean | Promise<boolean>])[] = [
  ['false', () => false],
  ['a promise of false', () => Promise.resolve(false)],
  [
    'an error',
    () => {
      throw new Error('no session');
    },
  ],
];

describe('a request to a dashboard', () => {
  it.each(DENYING)('gets 403 if authorize gives %s', async (_, authorize) => {
    const { get, post } = served({ authorize, allowRevoke: true });
    for (const path of ['/', '/events']) expect(await statusOf(get(path))).toBe(403);
    expect(await statusOf(post({ name: 'x' }))).toBe(403);
    expect(await statusOf(get('/elsewhere'))).toBe(404);
  });

  it('is shown to authorize', async () => {
    const seen: string[] = [];
    const { get } = served({
      authorize: ({ url, headers }) => {
        seen.push(url);
        return headers.get('cookie') === 'session=1';
      },
    });
    expect(await statusOf(get('/', { headers: { cookie: 'session=1' } }))).toBe(200);
    expect(await statusOf(get('/events'))).toBe(403);
    expect(seen).toEqual([`${ORIGIN}/`, `${ORIGIN}/events`]);
  });

  it('gets 403 if its origin is another one than that of its URL', async () => {
    const { get, post } = served({ allowRevoke: true });
    for (const origin of ['https://evil.example', 'http://shop.example', `${ORIGIN}:444`, 'null']) {
      const headers = { origin, 'content-type': 'application/json' };
      for (const path of ['/', '/events']) expect(await statusOf(get(path, { headers }))).toBe(403);
      expect(await statusOf(post({ name: 'x' }, { headers }))).toBe(403);
    }
    const own = { origin: ORIGIN, 'content-type': 'application/json' };
    expect(await statusOf(get('/', { headers: own }))).toBe(200);
    expect(await statusOf(post({ name: 'x' }, { headers: own }))).toBe(200);
  });

  it('gets 403 for events and revocations if the browser says that another site made it', async () => {
    const { get, post } = served({ allowRevoke: true });
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site, 'content-type': 'application/json' };
      expect(await statusOf(get('/', { headers }))).toBe(200);
      expect(await statusOf(get('/events', { headers }))).toBe(403);
      expect(await statusOf(post({ name: 'x' }, { headers }))).toBe(403);
    }
    expect(await statusOf(get('/events', { headers: { 'sec-fetch-site': 'same-origin' } }))).toBe(200);
  });

  it('gets the page under a policy that permits its own script and style by their hashes, and nothing inline', async () => {
    const { get } = served();
    const response = await get('/');
    const policy = response.headers.get('content-security-policy') ?? '';
    const html = await response.text();
    const hashOf = (tag: string): string => {
      const [, text = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
      expect(text.length).toBeGreaterThan(1_000);
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    const directives = new Map(policy.split('; ').map((each) => [each.split(' ')[0], each]));
    expect(directives.get('default-src')).toBe(`default-src 'none'`);
    expect(directives.get('script-src')).toBe(`script-src ${hashOf('script')}`);
    expect(directives.get('style-src')).toBe(`style-src ${hashOf('style')}`);
    expect(directives.get('connect-src')).toBe(`connect-src 'self'`);
    expect(directives.get('frame-ancestors')).toBe(`frame-ancestors 'none'`);
    expect(directives.get('trusted-types')).toBe(`trusted-types 'none'`);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(html).not.toMatch(/ (on\w+|style)=|<link[^>]+href="(?!data:)/);
  });

  it.each(['/', '/events', '/elsewhere'])(
    'gets an answer from %s that nobody keeps or embeds',
    async (path) => {
      const { get } = served();
      const { headers, body } = await get(path);
      await body?.cancel();
      expect(headers.get('cache-control')).toContain('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('set-cookie')).toBeNull();
    },
  );
});

describe('a request to revoke', () => {
  it('gets 403 from a dashboard that may not, and the hold goes on', async () => {
    const { locks, post } = served();
    const lock = await locks.acquireMutex('a');
    expect(await statusOf(post({ name: 'a', force: true }))).toBe(403);
    await lock.confirm();
    expect(lock.releaseRequested.aborted).toBe(false);
  });

  it('asks the holder to release, with the reason', async () => {
    const { locks, post } = served({ allowRevoke: true, basePath: '/locks' });
    const lock = await locks.acquireMutex('a');
    const response = await post({ name: 'a', id: lock.id, why: 'stuck <b>since</b> noon' });
    expect([response.status, await response.json()]).toEqual([
      200,
      { asked: [lock.id], gone: [], evicted: [] },
    ]);
    await eventually('the holder hears it', () => lock.releaseRequested.aborted);
    expect(String(lock.releaseRequested.reason)).toContain('stuck <b>since</b> noon');
  });

  it('gets 409 for a corrupt document', async () => {
    const { db, locks, post } = served({ allowRevoke: true });
    const lock = await locks.acquireMutex('a');
    await lock.release();
    await db
      .collection<{ _id: string }>('distributed.locks')
      .updateOne({ _id: 'a' }, { $set: { holder: 7 } });
    expect(await statusOf(post({ name: 'a' }))).toBe(409);
  });

  it('gets 503 from a store that is away, and the header that nothing was revoked only if that is known', async () => {
    const { locks, post } = served({ allowRevoke: true });
    for (const [outcomeKnown, header] of [
      [true, ''],
      [false, null],
    ] as const) {
      const away = new StoreUnavailableError('a', outcomeKnown, new Error('away'));
      vi.spyOn(locks, 'revoke').mockRejectedValueOnce(away);
      const { status, headers } = await post({ name: 'a' });
      expect([status, headers.get('leasehold-not-revoked')]).toEqual([503, header]);
    }
  });

  it('empties the seat by force', async () => {
    const { locks, post } = served({ allowRevoke: true });
    const lock = await locks.acquireMutex('a');
    expect(await (await post({ name: 'a', force: true })).json()).toMatchObject({ evicted: [lock.id] });
    await eventually('the lock is free', async () => (await locks.inspect('a'))?.holders.length === 0);
  });

  it.each([
    ['415 if it is no JSON by its type', 415, '{"name":"a"}', { headers: { 'content-type': 'text/plain' } }],
    ['400 if it is no JSON', 400, '{', {}],
    ['400 if it is no object', 400, '["a"]', {}],
    ['400 without a name', 400, '{}', {}],
    ['400 with an unknown key', 400, '{"name":"a","forse":true}', {}],
    ['400 with a reason that is too long', 400, JSON.stringify({ name: 'a', why: 'x'.repeat(1_025) }), {}],
    ['413 if it is too long', 413, JSON.stringify({ name: 'a', why: 'x'.repeat(20_000) }), {}],
  ] as const)('gets %s', async (_, status, body, init) => {
    const { locks, post } = served({ allowRevoke: true });
    const lock = await locks.acquireMutex('a');
    expect(await statusOf(post(body, init))).toBe(status);
    await lock.confirm();
    expect(lock.releaseRequested.aborted).toBe(false);
  });
});

describe('dashboard()', () => {
  it('refuses wrong arguments before anything is sent', () => {
    const set = new MemoryReplicaSet({ seed: 12 });
    whenTestEnds(() => set.close());
    const locks = new LockProvider(set.db('app'));
    const withOptions = (options: object) => () => dashboard(locks, options);
    expect(() => dashboard({} as never)).toThrow(TypeError);
    expect(withOptions({ basepath: '/x' })).toThrow(
      /unknown option "basepath" of dashboard; did you mean "basePath"/,
    );
    expect(withOptions({ basePath: 'x' })).toThrow(RangeError);
    expect(withOptions({ basePath: '/x?y' })).toThrow(RangeError);
    expect(withOptions({ basePath: 1 })).toThrow(TypeError);
    expect(withOptions({ allowRevoke: 1 })).toThrow(TypeError);
    expect(withOptions({ authorize: true })).toThrow(TypeError);
  });
});
