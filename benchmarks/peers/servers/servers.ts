import { installPackages } from '../packages.js';
import type { Peer, PeerServer } from '../peer.js';
import type { Workbench } from '../../workbench.js';
import { startEtcd } from './etcd.js';
import { startPostgresql } from './postgresql.js';
import { startRedis } from './redis.js';

type ServerName = Peer['server'];

/** The servers that this project does not bring along. */
const STARTERS: ReadonlyMap<ServerName, () => Promise<PeerServer>> = new Map([
  ['Redis', startRedis],
  ['etcd', startEtcd],
  ['PostgreSQL', startPostgresql],
]);

/** The servers of all peers. If a server cannot start, one line says why, and its peers are left out. */
export class Servers implements AsyncDisposable {
  readonly started = new Map<ServerName, PeerServer>();
  readonly absent = new Map<ServerName, string>();

  static async start(bench: Workbench): Promise<Servers> {
    const servers = new Servers();
    servers.started.set('MongoDB', mongodbOf(bench));
    const packages = installPackages();
    for (const [name, start] of STARTERS) {
      try {
        await packages;
        servers.started.set(name, await start());
      } catch (error) {
        const why = inOneLine(error);
        servers.absent.set(name, why);
        console.log(`peers: the libraries for ${name} are left out: ${why}`);
      }
    }
    return servers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.started.values()].map((server) => server[Symbol.asyncDispose]()));
  }
}

interface ServerStatus {
  readonly metrics: { readonly commands: Readonly<Record<string, { readonly total?: unknown }>> };
}

/** The server of the workbench, which the workbench itself stops. */
function mongodbOf(bench: Workbench): PeerServer {
  const admin = bench.client().db('admin');
  return {
    place: { uri: bench.uri, dbName: bench.dbName },
    description: `${bench.server}; a write is acknowledged when a majority has it in the journal`,
    survives: 'every acknowledged write; with several members, a majority has it',
    async countCommands() {
      const { metrics } = (await admin.command({ serverStatus: 1 })) as ServerStatus;
      return new Map(Object.entries(metrics.commands).map(([name, { total }]) => [name, Number(total)]));
    },
    processorMs: () => bench.serverMs,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const inOneLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replace(/\s*\n\s*/g, '; ');
