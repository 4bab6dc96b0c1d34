/** What is to be called if this process ends before it has called it off. */
const endings = new Set<() => void>();

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `endNow` when this process exits or a signal ends it; until what is returned is called. */
export function endWithThisProcess(endNow: () => void): () => void {
  if (endings.size === 0) installExitHooks();
  endings.add(endNow);
  return () => {
    endings.delete(endNow);
    if (endings.size === 0) removeExitHooks();
  };
}

function installExitHooks(): void {
  process.on('exit', endAllNow);
  for (const signal of endingSignals) process.on(signal, endBySignal);
}

function removeExitHooks(): void {
  process.off('exit', endAllNow);
  for (const signal of endingSignals) process.off(signal, endBySignal);
}

function endAllNow(): void {
  for (const endNow of endings) endNow();
  endings.clear();
}

function endBySignal(signal: NodeJS.Signals): void {
  removeExitHooks();
  endAllNow();
  // Another listener has taken it on itself to end the process; without one, the signal's own effect is due.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}
