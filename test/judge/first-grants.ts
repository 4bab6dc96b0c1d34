import type { History, WorkerLine } from '../faults/history.js';
import type { Grant } from './oplog-checker.js';
import { clockOf, msOf } from './run-clock.js';

/** How long after the end of a primary a worker first heard of a grant by a later primary. */
export interface FirstGrant {
  readonly fault: number;
  /** `null`: never. */
  readonly ms: number | null;
  /** The part of it after the election of the primary that gave the grant; `null` if its time is unknown. */
  readonly sinceElectionMs: number | null;
}

/** When a primary took office, in ns of the run's clock. */
export type Elections = ReadonlyMap<number, number>;

/** One result for each end of a primary. */
export function firstGrants(
  history: History,
  grants: readonly Grant[],
  elections: Elections = new Map(),
): readonly FirstGrant[] {
  const clock = clockOf(history);
  const terms = new Map(grants.map(({ lock, token, term }) => [`${token} ${lock}`, term]));
  const heard = history.workers
    .flatMap(grantsIn)
    .flatMap(({ lock, token, atNs }) => {
      const term = terms.get(`${token} ${lock}`);
      return term === undefined ? [] : [{ ns: clock.ns(atNs), term }];
    })
    .sort((a, b) => a.ns - b.ns);
  return history.run.flatMap((line) => {
    if (line.type !== 'primary gone') return [];
    const goneNs = clock.ns(line.atNs);
    const first = heard.find(({ ns, term }) => ns > goneNs && term > line.term);
    const electedNs = first === undefined ? undefined : elections.get(first.term);
    return [
      {
        fault: line.fault,
        ms: first === undefined ? null : msOf(first.ns - goneNs),
        sinceElectionMs: first === undefined || electedNs === undefined ? null : msOf(first.ns - electedNs),
      },
    ];
  });
}

interface Heard {
  readonly lock: string;
  readonly token: number;
  readonly atNs: string;
}

function grantsIn(lines: readonly WorkerLine[]): readonly Heard[] {
  const locks = new Map<number, string>();
  return lines.flatMap((line): readonly Heard[] => {
    if (line.type === 'asked') locks.set(line.ask, line.lock);
    if (line.type !== 'granted') return [];
    return [{ lock: locks.get(line.ask) ?? '', token: line.token, atNs: line.atNs }];
  });
}
