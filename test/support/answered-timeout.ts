import { AcquireTimeoutError } from '../../src/index.js';
import { QuorumError } from '../../src/quorum/index.js';
import { BUSY_MACHINE_MS, rejection } from '../../lab/patience.js';

/** A request that joined the queue knows its place. */
const wasQueued = ({ place }: AcquireTimeoutError): boolean => place !== null;

/** For waits without a queue. */
export const toldOfHolders = ({ holders }: AcquireTimeoutError): boolean => holders.length > 0;

/**
 * The timeout of a wait that the store has answered in time. A wait that ends before the answer knows neither its place
 * nor the holders, and a quorum then lacks the answers of a majority: the wait begins anew, with more time.
 */
export async function answeredTimeout(
  wait: (timeoutMs: number) => Promise<unknown>,
  wasAnswered: (error: AcquireTimeoutError) => boolean = wasQueued,
): Promise<AcquireTimeoutError> {
  for (let timeoutMs = 250; ; timeoutMs *= 4) {
    const error = await rejection(wait(timeoutMs));
    const isLast = timeoutMs > BUSY_MACHINE_MS;
    if (error instanceof QuorumError && !isLast) continue;
    if (!(error instanceof AcquireTimeoutError)) throw error;
    if (wasAnswered(error) || isLast) return error;
  }
}
