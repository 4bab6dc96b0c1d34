import type { Belief } from '../processes/beliefs.js';
import type { Line } from './candidate-lines.js';

/** The time in which a candidate believed that it led. */
export interface Term extends Belief {
  readonly candidate: string;
}

/**
 * The terms that the candidates of one process believed in. A belief begins with `onElected`. It ends with the last
 * promise, the loss or the beginning of `onDeposed`, because no seat is given back before that.
 */
export function termsOf(lines: readonly Line[]): readonly Term[] {
  const terms = new Map<number, Term>();
  for (const line of lines) {
    if (line.says === 'elected') {
      const { candidate, token, atNs, untilNs } = line;
      terms.set(token, { candidate, token, fromNs: BigInt(atNs), untilNs: BigInt(untilNs) });
      continue;
    }
    const term = 'token' in line ? terms.get(line.token) : undefined;
    if (term === undefined) continue;
    if (line.says === 'promised') terms.set(term.token, { ...term, untilNs: BigInt(line.untilNs) });
    const isEnd = line.says === 'deposed' || (line.says === 'signalled' && line.why !== 'released');
    const atNs = BigInt(line.atNs);
    if (isEnd && atNs < term.untilNs) terms.set(term.token, { ...term, untilNs: atNs });
  }
  return [...terms.values()];
}

const ORDER: readonly string[] = ['elected', 'worked', 'deposed', 'parted'];

/** Callbacks that came out of order: each callback of a candidate must end before its next one begins. */
export function disorderIn(lines: readonly Line[]): readonly string[] {
  const steps = new Map<string, number>();
  const wrong: string[] = [];
  for (const line of lines) {
    if (!('token' in line) || !ORDER.includes(line.says)) continue;
    const { candidate, token, says } = line;
    const step = steps.get(candidate) ?? 0;
    if (says !== ORDER[step % ORDER.length])
      wrong.push(`${candidate} ${says} with ${token}, not ${ORDER[step % ORDER.length] ?? ''}`);
    steps.set(candidate, step + 1);
  }
  return wrong;
}
