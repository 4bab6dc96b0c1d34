import type { Workbench } from '../../workbench.js';
import type { PeerServer } from './peer-server.js';

/** The one that every scenario has; whoever opened it closes it. */
export function mongodbOf(bench: Workbench): PeerServer {
  const admin = bench.client().db('admin');
  return {
    place: { uri: bench.uri, dbName: bench.dbName },
    description: `${bench.server}; a write is answered when a majority has it in the journal`,
    survives: 'everything that was answered; of several members, a majority has it',
    async countCommands() {
      const { metrics } = (await admin.command({ serverStatus: 1 })) as ServerStatus;
      return new Map(Object.entries(metrics.commands).map(([name, { total }]) => [name, Number(total)]));
    },
    processorMs: () => bench.load.processorMs,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

interface ServerStatus {
  readonly metrics: { readonly commands: Readonly<Record<string, { readonly total?: unknown }>> };
}
