import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { processorMsOf } from '../../processor-time.js';
import type { PeerServer } from '../peer.js';
import { ServerProcess, findProgram, freePort, newFolder, versionOf } from './server-process.js';
import type { User } from './server-process.js';

const execute = promisify(execFile);

/** Debian keeps each version of the server in a folder of its own here. */
const DEBIAN_FOLDER = '/usr/lib/postgresql';

export async function startPostgresql(): Promise<PeerServer> {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  const folders = versions
    .sort()
    .reverse()
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'));
  const program = await findProgram('postgres', 'apt-get install postgresql', folders);
  const user = process.getuid?.() === 0 ? await nobody() : undefined;
  const [port, folder] = [await freePort(), await newFolder(user)];
  const data = join(folder, 'data');
  const initArgs = ['-D', data, '-U', 'leasehold', '--auth=trust', '--locale=C', '--no-sync'];
  await execute(join(dirname(program), 'initdb'), initArgs, { cwd: folder, ...user });
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const server = await ServerProcess.start({
    program,
    args: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    folder,
    isReady: /ready to accept connections/,
    stopSignal: 'SIGQUIT',
    ...(user === undefined ? {} : { user }),
  });
  return {
    place: { uri: `postgres://leasehold@127.0.0.1:${port}/postgres`, dbName: '' },
    description: `PostgreSQL ${await versionOf(program)}, defaults; the locks are in its memory`,
    survives: 'nothing: every session ends, and its locks end with it; a standby has no copy of them',
    processorMs: () => processorMsOf(server.pid),
    countCommands: () => Promise.resolve(new Map()),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** PostgreSQL refuses to run as root. */
async function nobody(): Promise<User> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (option) => Number((await execute('id', [option, 'nobody'])).stdout)),
  );
  if (uid === undefined || gid === undefined)
    throw new Error('PostgreSQL needs the user nobody, which does not exist here');
  return { uid, gid };
}
