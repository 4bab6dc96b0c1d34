import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { textOf } from '../error-text.js';
import { shownDuration } from './values.js';

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The hosts that stand for all addresses of this machine, or for all of its IPv4 addresses. `[::ffff:0:0]` is how a URL
 * writes `::ffff:0.0.0.0`: all IPv4 addresses, on a socket of IPv6.
 */
const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '[::]', '[::ffff:0:0]'];

/**
 * Whether the host of a request is a loopback host, the host that the user has given, or the address on which the
 * command listens. A server that listens on all addresses accepts every IP address, but no name except `localhost`,
 * because another site can make its domain name resolve to this machine.
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
  // A URL cannot have an address with a zone, for example `fe80::1%eth0`. Such an address stays as it is.
  return URL.canParse(origin) ? new URL(origin).hostname : host;
}

/** The command that opens a file in the browser of the user. On every platform that is not in this list: `xdg-open`. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['explorer'],
};

/** How long a browser may take until it asks for the page, in ms. A browser that has to start takes some seconds. */
const OPENING_MS = 15_000;

interface OpenedPage extends AsyncDisposable {
  /** Resolves with why no browser has asked for the page; with `undefined` if one has, or after the disposal. */
  readonly trouble: Promise<string | undefined>;
}

/**
 * Opens a URL with a token in the browser of the user. The URL is no argument of the browser, because every user of the
 * machine can see the arguments of a process. Instead, the browser gets a file that leads to the URL and that only this
 * user can read. The disposal removes the file.
 *
 * @param asked - Aborts when a browser has asked for the page.
 */
export async function openInBrowser(url: string, asked: AbortSignal): Promise<OpenedPage> {
  const closed = new AbortController();
  let folder: string | undefined;
  let trouble: Promise<string | undefined>;
  try {
    folder = await mkdtemp(join(tmpdir(), 'leasehold-dashboard-'));
    const opener = await startBrowser(await pageTo(url, folder));
    trouble = troubleOf(opener, AbortSignal.any([asked, closed.signal]));
  } catch (error) {
    trouble = Promise.resolve(textOf(error));
  }
  const remove = async (): Promise<void> => {
    closed.abort();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return { trouble, [Symbol.asyncDispose]: remove };
}

/** Writes a page that leads to the URL, and resolves with the path of its file. */
async function pageTo(url: string, folder: string): Promise<string> {
  const file = join(folder, 'open.html');
  const text = `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`;
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function startBrowser(file: string): Promise<ChildProcess> {
  const [program, ...args] = openerOf(process.platform);
  try {
    const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
    child.unref();
    await once(child, 'spawn');
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(`the command ${program} was not found`, { cause: error });
  }
}

const openerOf = (platform: NodeJS.Platform): readonly [string, ...string[]] =>
  OPENERS[platform] ?? ['xdg-open'];

/** Why a browser may not have asked for the page in time. Snaps exist on Linux only. */
export const whyLate = (platform: NodeJS.Platform, folder: string): string =>
  platform === 'linux'
    ? `it may be slow, or a snap, which cannot read ${folder} (TMPDIR names another folder)`
    : 'it may be slow';

/**
 * Resolves with what is wrong if the opener ends with a failure, or if no browser asks for the page in time: a browser
 * may be unable to read the file. Resolves with `undefined` when the signal aborts.
 */
function troubleOf(opener: ChildProcess, over: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      resolve(`${shownDuration(OPENING_MS)} are over; ${whyLate(process.platform, tmpdir())}`);
    }, OPENING_MS).unref();
    const end = (trouble?: string): void => {
      clearTimeout(late);
      resolve(trouble);
    };
    opener.on('error', (error) => {
      end(textOf(error));
    });
    opener.on('exit', (code, signal) => {
      // `explorer` ends with 1 also if it has opened the page.
      if (code !== 0 && process.platform !== 'win32')
        end(`${opener.spawnfile} ended with ${String(signal ?? code)}`);
    });
    if (over.aborted) end();
    else
      over.addEventListener('abort', () => {
        end();
      });
  });
}
