import { sleep } from '../measure.js';

/** The bytes of the heap that are in use when no garbage is left. */
export async function heapBytes(): Promise<number> {
  // Objects with finalisers are freed only by a later collection.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed;
}
