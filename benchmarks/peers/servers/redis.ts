import { processorMsOf } from '../../processor-time.js';
import { connectToRedis } from '../libraries/redis.js';
import type { PeerServer } from '../peer.js';
import { ServerProcess, findProgram, freePort, newFolder, versionOf } from './server-process.js';

export async function startRedis(): Promise<PeerServer> {
  const program = await findProgram('redis-server', 'apt-get install redis-server');
  const [port, folder] = [await freePort(), await newFolder()];
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--appendonly', 'yes'];
  const server = await ServerProcess.start({ program, args, folder, isReady: /Ready to accept connections/ });
  const uri = `redis://127.0.0.1:${port}`;
  const client = await connectToRedis(uri);
  return {
    place: { uri, dbName: '' },
    description: `redis-server ${await versionOf(program)}, appendonly yes, appendfsync everysec (its default)`,
    survives: 'all but the last second: a lock that was just granted can be granted a second time',
    processorMs: () => processorMsOf(server.pid),
    countCommands: async () => callsIn(await client.info('commandstats')),
    async [Symbol.asyncDispose]() {
      await client.quit();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The counts in lines like `cmdstat_set:calls=5,usec=…`. */
const callsIn = (stats: string): ReadonlyMap<string, number> =>
  new Map(
    [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [
      name ?? '',
      Number(calls),
    ]),
  );
