import { whenTestEnds } from './current-test.js';

/**
 * Keeps the handle until the test ends. Without it, the garbage collector may take a handle that the test does not use
 * any more, and the library then gives its lock back.
 */
export async function keepHold<Handle>(asked: Promise<Handle>): Promise<Handle> {
  const handle = await asked;
  whenTestEnds(() => handle);
  return handle;
}
