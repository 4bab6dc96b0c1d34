/** Resolves when the present turn of the event loop has ended and all promises that follow from it are settled. */
export const turnOfEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
