import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { eventually } from '../../../lab/patience.js';
import { cacheFolder } from '../../../lab/processes/program.js';
import { EventReader } from '../dashboard/event-reader.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { Fleet, resultOf, untilPrinted, useCommandLine } from './command-line.js';

useCommandLine();

/** The status of a request, whose headers may be those that `fetch` does not send. */
async function statusOf(
  url: string,
  headers: IncomingHttpHeaders = {},
  method = 'GET',
): Promise<number | undefined> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { headers, method, agent: false }, (response) => {
      resolve(response.statusCode);
      response.resume();
      if (response.headers['content-type'] === 'text/event-stream') response.destroy();
    });
    sent.on('error', (cause) => {
      reject(new Error(`no answer to ${method} ${url} with ${JSON.stringify(headers)}`, { cause }));
    });
    sent.end();
  });
}

/** Writes an `xdg-open` that runs this text of the shell, and returns a PATH on which it comes first. */
async function opener(folder: string, text: string): Promise<string> {
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  return `${folder}:${process.env['PATH'] ?? ''}`;
}

describe.concurrent('leasehold dashboard', () => {
  it('prints its URL alone, shows locks at it, and ends with 0 by SIGTERM while a page is open', async () => {
    const fleet = new Fleet();
    untilTestEnds(await fleet.locks.acquireMutex('shown', { why: 'a reason' }));
    const child = fleet.start('dashboard');
    const url = (await untilPrinted(child, '\n')).trim();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
    expect(await (await fetch(url)).text()).toContain('<!doctype html>');
    const viewer = untilTestEnds(new EventReader(await fetch(`${url}events`)));
    await viewer.until('the lock is shown', ({ locks }) => locks.of('shown')?.holders[0]?.why === 'a reason');
    child.signal('SIGTERM');
    const { code, stdout, stderr } = await resultOf(child);
    expect([code, stdout.trim(), stderr]).toEqual([0, url, '']);
  });

  it('refuses every request without its token, and of a foreign host or origin', async () => {
    const fleet = new Fleet();
    const child = fleet.start('dashboard', '--json', '--allow-revoke');
    const { url } = JSON.parse(await untilPrinted(child, '\n')) as { url: string };
    const { origin, port, pathname } = new URL(url);
    expect(await statusOf(url)).toBe(200);
    for (const path of ['/', '/events', '/revoke', '/favicon.ico', `/x${pathname}`, pathname.slice(0, -2)]) {
      expect([path, await statusOf(origin + path)]).toEqual([path, 403]);
    }
    for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`]) {
      for (const path of ['', 'events'])
        expect([host, await statusOf(url + path, { host })]).toEqual([host, 403]);
    }
    expect(await statusOf(url, { host: `localhost:${port}` })).toBe(200);
    const json = { 'content-type': 'application/json' };
    for (const foreign of ['https://evil.example', 'null']) {
      expect(await statusOf(`${url}revoke`, { ...json, origin: foreign }, 'POST')).toBe(403);
      expect(await statusOf(`${url}events`, { origin: foreign })).toBe(403);
    }
    expect(await statusOf(`${url}revoke`, { ...json, origin }, 'POST')).toBe(400);
    child.signal('SIGINT');
    expect((await resultOf(child)).stderr).not.toContain(pathname.slice(1, -1));
  });

  it('answers at the URL that it prints, also on all addresses', async () => {
    const fleet = new Fleet();
    const child = fleet.start('dashboard', '--host', '0');
    const url = (await untilPrinted(child, '\n')).trim();
    expect(await statusOf(url)).toBe(200);
    expect(await statusOf(url, { host: 'evil.example' })).toBe(403);
    child.signal('SIGTERM');
    expect(await resultOf(child)).toMatchObject({ code: 0, stderr: '' });
  });

  it('revokes only with --allow-revoke', async () => {
    const fleet = new Fleet();
    const lock = untilTestEnds(await fleet.locks.acquireMutex('x'));
    const [reading, revoking] = [fleet.start('dashboard'), fleet.start('dashboard', '--allow-revoke')];
    const post = async (url: string): Promise<Response> =>
      await fetch(`${url.trim()}revoke`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'x' }),
      });
    expect((await post(await untilPrinted(reading, '\n'))).status).toBe(403);
    expect(lock.releaseRequested.aborted).toBe(false);
    expect(await (await post(await untilPrinted(revoking, '\n'))).json()).toMatchObject({ asked: [lock.id] });
  });

  it.each([
    ['no folder for its file', { TMPDIR: '/nowhere' }, 'no such file or directory'],
    ['no opener', { PATH: '/nowhere' }, 'the command xdg-open was not found'],
    ['an opener without a browser', { opener: 'exit 3' }, 'xdg-open ended with 3'],
    // As with a browser of a snap, which shows an error page of its own.
    ['a browser that cannot read the file', { opener: 'exit 0' }, '15.0s are over; it may be slow'],
  ] as const)('says once that no browser has asked for the page, and serves it: %s', async (_, how, why) => {
    await using folder = await cacheFolder('opener');
    const env = 'opener' in how ? { PATH: await opener(folder.path, how.opener) } : how;
    const child = new Fleet().startWith(env, 'dashboard', '--open');
    await eventually('it says so', (see) => see(child.stderr).includes('; open the URL yourself\n'));
    expect(await statusOf((await untilPrinted(child, '\n')).trim())).toBe(200);
    child.signal('SIGTERM');
    const { code, stderr } = await resultOf(child);
    expect([code, stderr.trim().split('\n')]).toEqual([0, [expect.stringContaining(why)]]);
    expect(stderr).toContain('leasehold: the browser has not asked for the page yet: ');
  });

  it('says nothing of the browser once it has asked for the page, even if the opener fails later', async () => {
    await using folder = await cacheFolder('opener');
    const asks = `
      const [page] = process.argv.slice(1);
      const [, url] = /url=([^"]+)/.exec(require("node:fs").readFileSync(new URL(page), "utf8"));
      fetch(url).then(() => process.exit(3));`;
    const path = await opener(
      folder.path,
      `'${process.execPath}' -e '${asks}' "$1"; touch '${folder.path}/done'; exit 3`,
    );
    const child = new Fleet().startWith({ PATH: path }, 'dashboard', '--open');
    await eventually('the opener has ended', async () => (await readdir(folder.path)).includes('done'));
    child.signal('SIGTERM');
    expect(await resultOf(child)).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends with 78 if its port is in use, and with 64 for a port that is none', async () => {
    const fleet = new Fleet();
    const taken = createServer().listen(0, '127.0.0.1');
    whenTestEnds(() => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, stdout, stderr } = await fleet.call('dashboard', '--port', String(port));
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain('the port is in use');
    expect((await fleet.call('dashboard', '--port', '70000')).code).toBe(64);
    expect((await resultOf(fleet.startWith({ LEASEHOLD_PORT: 'no' }, 'dashboard'))).code).toBe(64);
  });

  it('ignores the variable that Kubernetes sets for a service with the name leasehold', async () => {
    const child = new Fleet().startWith({ LEASEHOLD_PORT: 'tcp://10.0.0.1:80' }, 'dashboard');
    expect(await statusOf((await untilPrinted(child, '\n')).trim())).toBe(200);
  });
});
