import { installPackages } from '../packages.js';
import type { Peer } from '../peer.js';
import type { Workbench } from '../../workbench.js';
import { startEtcd } from './etcd.js';
import { mongodbOf } from './mongodb.js';
import type { PeerServer } from './peer-server.js';
import { startPostgresql } from './postgresql.js';
import { startRedis } from './redis.js';

type ServerName = Peer['server'];

/** Those that need something which this project does not bring along. */
const STARTERS: ReadonlyMap<ServerName, () => Promise<PeerServer>> = new Map([
  ['Redis', startRedis],
  ['etcd', startEtcd],
  ['PostgreSQL', startPostgresql],
]);

/** The servers of all peers, as far as they can be had; of those that cannot, one line each says why. */
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
        console.log(`peers: whatever needs ${name} is left out: ${why}`);
      }
    }
    return servers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.started.values()].map((server) => server[Symbol.asyncDispose]()));
  }
}

const inOneLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replace(/\s*\n\s*/g, '; ');
