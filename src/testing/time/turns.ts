/** Resolves after the present turn of the event loop and all its microtasks. */
export const turnOfEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
