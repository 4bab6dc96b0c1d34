import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all garbage of this process now. */
export const collectNow = runInNewContext('gc') as () => void;

/** A collection stops the process. After it, other work has this many times as long. */
const REST_SHARE = 3;

let restUntilMs = -Infinity;

/** Collects all garbage of this process, unless that would leave too little time to everything else. For loops. */
export function collectGarbage(): void {
  const startedMs = performance.now();
  if (startedMs < restUntilMs) return;
  collectNow();
  const endedMs = performance.now();
  restUntilMs = endedMs + REST_SHARE * (endedMs - startedMs);
}
