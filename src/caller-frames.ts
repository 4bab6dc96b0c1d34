/** At most so many frames of the library stand between the code that makes an error and the caller's own frames. */
const OWN_FRAMES = 20;

/**
 * Returns what `make` returns. The stack of an error that `make` creates reaches the caller's code: V8 keeps ten frames,
 * and the asynchronous frames of the library would use them up.
 */
export function withCallerFrames<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  if (typeof stackTraceLimit !== 'number' || stackTraceLimit === 0) return make();
  // A program may have frozen the limit; then the stack is shorter.
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit + OWN_FRAMES);
  try {
    return make();
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}
