import { permitsOf } from '../../../src/testing/judge/legality.js';
import type { WorkerLine } from '../../faults/history.js';
import { LIMIT_MISMATCH } from '../../judge/limit-refusals.js';
import type { Evidence } from '../world/world.js';
import type { Judgement } from './judge-run.js';
import { mayBeOwnMark } from './operator-effects.js';
import { isHeardInTime } from './revocation-news.js';
import type { Sometimes } from './sometimes-list.js';
import { versionOf } from './parsed-versions.js';

/** What operators did, and what came of it. */
export function* ofOperators(
  evidence: Evidence,
  { changes, revocations }: Pick<Judgement, 'changes' | 'revocations'>,
): Iterable<Sometimes> {
  if (evidence.plan.operations === undefined) return;
  const { effects, hearings } = revocations;
  if (hearings.some(isHeardInTime)) yield 'a holder hears in time that it was asked to release';
  for (const effect of effects) {
    const { does, lease } = effect;
    if (mayBeOwnMark(effect)) continue;
    if (does === 'ask') yield 'a hold is revoked politely';
    if (does === 'evict') yield 'a hold is revoked by force';
    if (lease?.candidateId !== undefined) yield 'a term is revoked';
  }
  for (const { before, after } of changes) {
    const [was, is] = [versionOf(before), versionOf(after)];
    if (was.limit === undefined || is.limit === undefined) continue;
    if (is.limit > was.limit) yield 'a limit is raised';
    if (is.limit < was.limit && permitsOf(is.leases) > is.limit)
      yield 'a limit is lowered below what is held';
  }
  for (const lines of evidence.history.workers) yield* inLines(lines);
}

function* inLines(lines: readonly WorkerLine[]): Iterable<Sometimes> {
  /** The holders that were asked, and whether they obey. */
  const asked = new Map<number, boolean>();
  for (const line of lines) {
    if (line.type === 'release requested') asked.set(line.ask, line.obeys === true);
    if (line.type === 'lost' && line.why === 'revoked' && !asked.has(line.ask))
      yield 'a holder hears that it was evicted';
    if (line.type === 'lost') asked.delete(line.ask);
    if (line.type === 'releasing' && asked.get(line.ask) === true) yield 'a holder lets go when it is asked';
    if (line.type === 'not granted' && line.code === LIMIT_MISMATCH)
      yield 'a request is refused because its permits exceed the limit';
  }
}
