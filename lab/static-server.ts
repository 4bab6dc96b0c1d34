import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve, sep } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** Files of one folder, on 127.0.0.1. */
export interface StaticServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
}

/** Serves the files of a folder until it is disposed. It needs no rules: a page has its own file. */
export async function serveFolder(folder: string, port = 0): Promise<StaticServer> {
  const root = resolve(folder);
  const server = createServer((request, response) => {
    void answer(root, request.url ?? '/', response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function answer(root: string, url: string, response: ServerResponse): Promise<void> {
  const file = fileOf(root, url);
  try {
    if (file === undefined) throw new Error(`${url} is outside the folder`);
    const content = await readFile(file);
    response
      .writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
      .end(content);
  } catch {
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n');
  }
}

/** The file that a path of the URL names; undefined if it is outside the folder, or no path. */
function fileOf(root: string, url: string): string | undefined {
  const { pathname } = new URL(url, 'http://127.0.0.1');
  const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
  try {
    const file = join(root, decodeURIComponent(path));
    return file.startsWith(root + sep) ? file : undefined;
  } catch {
    return undefined;
  }
}
