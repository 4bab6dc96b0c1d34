import { load } from '../packages.js';
import type { Peer } from '../peer.js';

interface PostgresClient {
  connect(): Promise<unknown>;
  query(statement: string): Promise<unknown>;
  end(): Promise<void>;
}

type Client = new (options: { connectionString: string }) => PostgresClient;

const LOCK_NUMBER = 1;

export const postgresql: Peer = {
  server: 'PostgreSQL',
  waits: 'queued by the server in the session, which ends with its connection: no lease, no token',
  sends: [],
  isGated: false,
  async connect({ uri }) {
    const { Client } = load('pg') as { Client: Client };
    const client = new Client({ connectionString: uri });
    await client.connect();
    return {
      async acquire() {
        await client.query(`SELECT pg_advisory_lock(${LOCK_NUMBER})`);
        return () => client.query(`SELECT pg_advisory_unlock(${LOCK_NUMBER})`);
      },
      async close() {
        await client.end();
      },
    };
  },
};
