import type { Place } from '../processes/connections.js';
import { processorMsOf } from '../processor-time.js';
import type { Report } from '../report.js';
import type { Workbench } from '../workbench.js';
import { connectToRedis } from './libraries/redis.js';
import type { ServerName } from './library.js';
import { installPackages } from './packages.js';
import { freePort } from '../../lab/ports.js';
import { startServer } from './server-process.js';

/** A server that one or more of the libraries use. */
export interface PeerServer extends AsyncDisposable {
  readonly place: Place;
  /** Its processes, if they run on this machine. */
  readonly pids: readonly number[];
  /** Version, settings, and the locks that a crash of its machine leaves. */
  readonly description: string;
  /** How often each command came so far. */
  countCommands(): Promise<ReadonlyMap<string, number>>;
  /** Processor time that it has used so far; NaN if it is not known. */
  processorMs(): number;
}

/** The servers that this project does not bring along. */
const STARTERS = { Redis: startRedis, etcd: startEtcd } as const;

/** The servers of all libraries. If a server cannot start, one line says why, and its libraries are left out. */
export class Servers implements AsyncDisposable {
  readonly started = new Map<ServerName, PeerServer>();
  readonly absent = new Map<ServerName, string>();

  static async start(bench: Workbench): Promise<Servers> {
    const servers = new Servers();
    servers.started.set('MongoDB', mongodbOf(bench));
    const packages = installPackages();
    for (const [name, start] of Object.entries(STARTERS) as [ServerName, () => Promise<PeerServer>][]) {
      try {
        await packages;
        servers.started.set(name, await start());
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        servers.absent.set(name, why);
        console.log(`peers: the libraries for ${name} are left out: ${why}`);
      }
    }
    return servers;
  }

  /** Adds a note on each server, and on why one is absent. */
  describe(report: Report): void {
    for (const [name, { description }] of this.started) report.note(`server ${name}`, description);
    for (const [name, why] of this.absent) report.note(`server ${name}`, `left out: ${why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.started.values()].map((server) => server[Symbol.asyncDispose]()));
  }
}

const KEEPS_ALL = 'a crash of its machine leaves every acknowledged write';

/** The server of the workbench, which the workbench itself stops. */
function mongodbOf(bench: Workbench): PeerServer {
  const admin = bench.client().db('admin');
  return {
    place: bench.place,
    pids: bench.serverPids,
    description: `${bench.server}; majority and journal; ${KEEPS_ALL}`,
    async countCommands() {
      const { metrics } = await admin.command({ serverStatus: 1 });
      const { commands } = metrics as { commands: Readonly<Record<string, { readonly total?: unknown }>> };
      return new Map(Object.entries(commands).map(([name, { total }]) => [name, Number(total)]));
    },
    processorMs: () => bench.serverMs(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function startRedis(): Promise<PeerServer> {
  const port = await freePort();
  const server = await startServer({
    ...{ program: 'redis-server', toInstall: 'apt-get install redis-server', port },
    args: (folder) => [
      ...['--bind', '127.0.0.1', '--port', String(port)],
      ...['--dir', folder, '--appendonly', 'yes'],
    ],
  });
  const uri = `redis://127.0.0.1:${port}`;
  const client = await connectToRedis(uri);
  return {
    place: { uri, dbName: '' },
    pids: [server.pid],
    description: `redis-server ${server.version}, appendonly yes, appendfsync everysec (its default); a crash of its machine leaves all but the last second, so a lock that was just granted can be granted a second time`,
    processorMs: () => processorMsOf(server.pid),
    // Lines like `cmdstat_set:calls=5,usec=…`.
    countCommands: async () => counted(await client.info('commandstats'), /^cmdstat_([^:]+):calls=(\d+)/gm),
    async [Symbol.asyncDispose]() {
      await client.quit();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startEtcd(): Promise<PeerServer> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [uri, peerUri] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const server = await startServer({
    ...{ program: 'etcd', toInstall: 'apt-get install etcd-server', port },
    args: (folder) => [
      ...['--name', 'one', '--data-dir', folder, '--initial-cluster', `one=${peerUri}`],
      ...['--listen-client-urls', uri, '--advertise-client-urls', uri],
      ...['--listen-peer-urls', peerUri, '--initial-advertise-peer-urls', peerUri],
    ],
  });
  // Lines like `grpc_server_msg_received_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",…} 5`.
  const messages =
    /^grpc_server_msg_received_total\{grpc_method="(\w+)",grpc_service="etcdserverpb.*\} (\S+)$/gm;
  return {
    place: { uri, dbName: '' },
    pids: [server.pid],
    description: `etcd ${server.version}, one member, defaults; it syncs its log before it answers; ${KEEPS_ALL}`,
    processorMs: () => processorMsOf(server.pid),
    countCommands: async () => counted(await (await fetch(`${uri}/metrics`)).text(), messages),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const counted = (text: string, line: RegExp): ReadonlyMap<string, number> =>
  new Map([...text.matchAll(line)].map(([, name = '', count]) => [name, Number(count)]));
