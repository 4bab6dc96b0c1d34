/** Resolves when the present turn of the event loop has ended and all promises that follow from it are settled. */
export const turnOfEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/**
 * Calls back `count` times in the next turn of the event loop. Before each call, Node settles all promises and
 * everything that they lead to.
 */
export function callInNextTurn(count: number, call: () => void): void {
  for (let each = 0; each < count; each += 1) setImmediate(call);
}
