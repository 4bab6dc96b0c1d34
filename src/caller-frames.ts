/** The most frames of the library itself between the code that creates an error and the frames of the caller. */
const OWN_FRAMES = 20;

/**
 * Returns what `make` returns. If `make` creates an error, its stack reaches the caller's code: by default V8 keeps ten
 * frames, and the asynchronous frames of the library alone would fill all ten.
 */
export function withCallerFrames<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  if (typeof stackTraceLimit !== 'number' || stackTraceLimit === 0) return make();
  // If a program has frozen `Error`, `Reflect.set` returns false and the stack stays short. An assignment would throw.
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit + OWN_FRAMES);
  try {
    return make();
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}
