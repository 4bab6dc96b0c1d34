import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A mongod that was seen to run on this machine. */
export interface MongodBinary {
  readonly path: string;
  /** Three numbers, such as `6.0.5`. */
  readonly version: string;
  /** Where it came from, in words for people. */
  readonly origin: string;
}

/** What one way of getting a mongod answers: the binary, or why there is none. */
export type Finding = MongodBinary | { readonly missing: string };

/** Where people are told what goes on: one line a call. */
export type Say = (line: string) => void;

/** There is no server to run against; the message says what to do about it. */
export class NoServerError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(`leasehold: ${message}`, options);
    this.name = 'NoServerError';
    // Where in the code it was found out is of no help to who has to do something about it.
    this.stack = this.message;
  }
}

export const projectFolder = fileURLToPath(new URL('../../', import.meta.url));

/** Outside node_modules, so that `npm ci` does not throw a fetched server away. */
export const cacheFolder = join(projectFolder, '.cache', 'mongod');

/** A file that exists may still not run here (another platform, a missing library), so it is run. */
export async function inspectMongod(path: string, origin: string): Promise<Finding> {
  try {
    const { stdout } = await execute(path, ['--version'], { timeout: 20_000 });
    const version = /db version v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
    if (version === undefined) return { missing: `${path} does not present itself as a mongod` };
    return { path, version, origin };
  } catch (error) {
    return { missing: `${path} does not run: ${lastLine(error)}` };
  }
}

/** The line of a failed command that names the cause: the last one on its standard error. */
export function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const text = stderr?.trim() ?? '';
  return (text === '' ? (message ?? String(error)) : text).trim().split('\n').at(-1) ?? '';
}
