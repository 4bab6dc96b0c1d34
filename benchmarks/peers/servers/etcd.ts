import { processorMsOf } from '../../processor-time.js';
import type { PeerServer } from '../peer.js';
import { ServerProcess, findProgram, freePort, newFolder, versionOf } from './server-process.js';

export async function startEtcd(): Promise<PeerServer> {
  const program = await findProgram('etcd', 'apt-get install etcd-server');
  const [port, peerPort, folder] = [await freePort(), await freePort(), await newFolder()];
  const uri = `http://127.0.0.1:${port}`;
  const peerUri = `http://127.0.0.1:${peerPort}`;
  const args = [
    ...['--name', 'one', '--data-dir', folder, '--initial-cluster', `one=${peerUri}`],
    ...['--listen-client-urls', uri, '--advertise-client-urls', uri],
    ...['--listen-peer-urls', peerUri, '--initial-advertise-peer-urls', peerUri],
  ];
  const server = await ServerProcess.start({
    program,
    args,
    folder,
    isReady: /ready to serve client requests/,
  });
  return {
    place: { uri, dbName: '' },
    description: `etcd ${await versionOf(program)}, one member, defaults: it syncs its log before it answers`,
    survives: 'every acknowledged write; with several members, a majority has it',
    processorMs: () => processorMsOf(server.pid),
    countCommands: async () => messagesIn(await (await fetch(`${uri}/metrics`)).text()),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The counts in lines like `grpc_server_msg_received_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",…} 5`. */
const messagesIn = (metrics: string): ReadonlyMap<string, number> =>
  new Map(
    [
      ...metrics.matchAll(
        /^grpc_server_msg_received_total\{grpc_method="(\w+)",grpc_service="etcdserverpb.*\} (\S+)$/gm,
      ),
    ].map(([, method, count]) => [method ?? '', Number(count)]),
  );
