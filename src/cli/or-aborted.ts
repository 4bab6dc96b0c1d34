/**
 * Settles as the promise does, or rejects with the reason of the signal as soon as the signal has aborted.
 *
 * `Promise.race` with one promise for all calls is not enough: a promise that stays pending keeps the results of all its
 * races. Here each call has its own promise and listener, and nothing keeps them after the call.
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
  });
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
