import { closeLocks, lockProvider } from './locks';

let isEnding = false;

async function end(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  try {
    await closeLocks(); // refuses new requests, and waits for the locks of those that run
  } finally {
    setTimeout(() => process.exit(0), 1_000); // the last answers are still on their way
  }
}

export async function startServer(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
  await lockProvider().createLeaderElection('nightly').start();
}
