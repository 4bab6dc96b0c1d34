import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { textOf } from '../error-text.js';

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The hosts that stand for all addresses of this machine. `[::ffff:0:0]` is the canonical form of `::ffff:0.0.0.0`: all
 * IPv4 addresses on a socket of IPv6.
 */
const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '[::]', '[::ffff:0:0]'];

/**
 * Whether the host of a request is a loopback host, the host that the user has given, or the address on which the
 * command listens. A server that listens on all addresses accepts every IP address, but no name except `localhost`:
 * another site can let a name of its own lead to this machine, but not an IP address.
 */
export function isLocalHost(
  host: string,
  { given, listensOn }: { readonly given: string; readonly listensOn: string },
): boolean {
  const { hostname } = new URL(`http://${host}`);
  if (LOOPBACK.includes(hostname)) return true;
  const address = hostnameOf(listensOn);
  if (ANY_ADDRESS.includes(address)) return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return hostname === address || hostname === hostnameOf(given);
}

/** The host as a URL has it: a name in lower case, an IP address in its one canonical form. */
function hostnameOf(host: string): string {
  const origin = `http://${isIP(host) === 6 ? `[${host}]` : host}`;
  // A URL cannot have an address with a zone, for example `fe80::1%eth0`.
  return URL.canParse(origin) ? new URL(origin).hostname : host;
}

/** The command that opens a file in the browser of the user. On a platform that is not in this list: `xdg-open`. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['explorer'],
};

interface OpenedPage extends AsyncDisposable {
  /** Why no browser was started; `undefined` if one was started. */
  readonly trouble: string | undefined;
}

/**
 * Opens a URL with a token in the browser of the user. The URL is no argument of the browser, because every user of the
 * machine sees the arguments of a process. Instead, the browser gets a file that leads to the URL and that only this
 * user can read. The disposal removes the file.
 */
export async function openInBrowser(url: string): Promise<OpenedPage> {
  let folder: string | undefined;
  let trouble: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), 'leasehold-dashboard-'));
    await startBrowser(await pageTo(url, folder));
  } catch (error) {
    trouble = textOf(error);
  }
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return { trouble, [Symbol.asyncDispose]: remove };
}

/** Writes a file that leads to the URL. */
async function pageTo(url: string, folder: string): Promise<string> {
  const file = join(folder, 'open.html');
  const text = `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`;
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function startBrowser(file: string): Promise<void> {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
  child.unref();
  await once(child, 'spawn');
}
