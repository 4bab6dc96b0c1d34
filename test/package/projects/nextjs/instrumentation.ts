export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return; // the edge runtime has neither sockets nor signals
  const { startServer } = await import('./lib/server');
  await startServer();
}
