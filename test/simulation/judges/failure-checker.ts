import type { FallibleCall } from '../../faults/history.js';
import type { Violation } from '../../faults/verdict.js';
import { overlaps } from '../../judge/overlap.js';
import type { Evidence } from '../world/world.js';
import { callsIn } from './operator-calls.js';
import type { OperatorCall } from './operator-calls.js';
import { disturbances } from './spans.js';

interface Failure {
  readonly what: OperatorCall['does'] | FallibleCall;
  readonly worker: number;
  readonly fromMs: number;
  readonly atMs: number;
  readonly code: string;
}

/** The codes with which each call may fail. */
const CODES: Readonly<Record<Failure['what'], readonly string[]>> = {
  ask: ['STORE_UNAVAILABLE'],
  evict: ['STORE_UNAVAILABLE'],
  resize: ['STORE_UNAVAILABLE'],
  inspect: ['STORE_UNAVAILABLE'],
  observe: ['STORE_UNAVAILABLE', 'ABORTED'],
  runNow: ['STORE_UNAVAILABLE', 'JOB_NOT_STARTED'],
};

/** R2: a call of an operator, for a run or for leaders fails only where a fault happens, and only with its codes. */
export function* checkFailures(evidence: Evidence): Iterable<Violation> {
  const faults = disturbances(evidence.history.run);
  for (const { what, worker, fromMs, atMs, code } of failuresIn(evidence)) {
    const isExcused = overlaps(faults, fromMs * 1e6, atMs * 1e6);
    if (isExcused && CODES[what].includes(code)) continue;
    const why = isExcused ? '' : ', and no fault happened';
    const times = `from ${fromMs.toFixed(1)} to ${atMs.toFixed(1)} ms`;
    yield {
      ...{ invariant: 'R2', checker: 'failures' },
      what: `the call of worker ${worker} ${times} (${what}) fails with ${code}${why}`,
    };
  }
}

function* failuresIn(evidence: Evidence): Iterable<Failure> {
  for (const { worker, does, fromMs, answer } of callsIn(evidence)) {
    if (answer?.code === undefined) continue;
    yield { what: does, worker, fromMs, atMs: answer.atMs, code: answer.code };
  }
  for (const [worker, lines] of evidence.history.workers.entries()) {
    for (const line of lines) {
      if (line.type !== 'failed') continue;
      const { what, sinceNs, atNs, code } = line;
      yield { what, worker, fromMs: Number(sinceNs) / 1e6, atMs: Number(atNs) / 1e6, code };
    }
  }
}
