/** Resolves when all promises of the present turn of the event loop, and everything that they lead to, are settled. */
export const turnOfEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
