import { AcquireTimeoutError } from '../../src/index.js';
import { BUSY_MACHINE_MS, rejection } from '../../lab/patience.js';

/** Whoever queued knows its place. */
const wasQueued = ({ place }: AcquireTimeoutError): boolean => place !== null;

/** For waits without a queue. */
export const toldOfHolders = ({ holders }: AcquireTimeoutError): boolean => holders.length > 0;

/**
 * The timeout of a wait that the store had answered in time. One that ends sooner knows neither its place nor who is in
 * its way: then it is begun anew, with more time.
 */
export async function answeredTimeout(
  wait: (timeoutMs: number) => Promise<unknown>,
  wasAnswered: (error: AcquireTimeoutError) => boolean = wasQueued,
): Promise<AcquireTimeoutError> {
  for (let timeoutMs = 250; ; timeoutMs *= 4) {
    const error = await rejection(wait(timeoutMs));
    if (!(error instanceof AcquireTimeoutError)) throw error;
    if (wasAnswered(error) || timeoutMs > BUSY_MACHINE_MS) return error;
  }
}
