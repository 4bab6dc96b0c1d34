import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

interface Connected {
  readonly client: MongoClient;
  readonly provider: LockProvider;
}

const kept = globalThis as { lockConnection?: Connected };

export function lockProvider(): LockProvider {
  kept.lockConnection ??= connect();
  return kept.lockConnection.provider;
}

function connect(): Connected {
  const client = new MongoClient(process.env['MONGODB_URI'] ?? '');
  return { client, provider: new LockProvider(client.db('app'), { label: 'web' }) };
}

export async function closeLocks(): Promise<void> {
  await kept.lockConnection?.provider.close({ drainMs: 8_000 });
  await kept.lockConnection?.client.close();
}
