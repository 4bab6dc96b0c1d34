import type { WorkerLine } from '../../faults/history.js';
import { QUORUM_LOCK } from '../world/quorum-actor.js';
import type { Evidence } from '../world/world.js';
import type { Sometimes } from './sometimes-list.js';
import { faultSpans, isIn, stands } from './spans.js';
import type { Span } from '../../judge/overlap.js';

type Asked = Extract<WorkerLine, { readonly type: 'asked' }>;

/** The times of a run in which something was away. */
interface Away {
  readonly primary: readonly Span[];
  readonly cuts: readonly Span[];
  readonly standing: readonly Span[];
}

/** A line of a request, with the times at which it was made and at which it last asked for another mode. */
interface OfRequest {
  readonly line: WorkerLine;
  readonly asked: Asked;
  readonly ns: number;
  readonly changingNs: number;
  readonly away: Away;
}

/** What the processes have written down. */
export function* inJournals({ history }: Evidence): Iterable<Sometimes> {
  const { run } = history;
  const primary = faultSpans(
    run,
    'the primary steps down',
    'the primary is cut off from the other members',
    'all members stop',
  );
  const cuts = faultSpans(run, 'a process is cut off');
  for (const [worker, lines] of history.workers.entries()) {
    const away = { primary, cuts, standing: stands(run, worker) };
    const asks = new Map<number, Asked>();
    const changing = new Map<number, number>();
    yield* ofObservers(lines);
    for (const line of lines) {
      if (line.type === 'asked') asks.set(line.ask, line);
      const asked = 'ask' in line ? asks.get(line.ask) : undefined;
      if (asked === undefined) continue;
      const ns = Number(line.atNs);
      if (line.type === 'changing') changing.set(asked.ask, ns);
      const request = { line, asked, ns, changingNs: changing.get(asked.ask) ?? ns, away };
      yield* ofAnswer(request);
      yield* ofHold(request);
      yield* ofMode(request);
    }
  }
}

function* ofObservers(lines: readonly WorkerLine[]): Iterable<Sometimes> {
  const leaders = new Map<number, number>();
  for (const line of lines) {
    if (line.type !== 'observed') continue;
    if (line.token === null) yield 'an observer sees that nobody leads';
    else if (leaders.has(line.observation)) yield 'an observer sees a leader follow another one';
    if (line.token !== null) leaders.set(line.observation, line.token);
  }
}

const isOfQuorum = ({ lock }: Asked): boolean => lock.startsWith(QUORUM_LOCK);

function* ofAnswer({ line, asked, ns, away }: OfRequest): Iterable<Sometimes> {
  const isOneOfSeveral = asked.isOneOfSeveral === true;
  if (line.type === 'granted') {
    if (isOneOfSeveral) yield 'all locks of an acquireAll are granted';
    if (isOfQuorum(asked) && isIn(away.primary, ns)) yield 'a quorum grants while a deployment is away';
    const wasCutOff = away.cuts.some(({ fromNs, untilNs }) => Number(asked.atNs) < fromNs && untilNs < ns);
    if (wasCutOff) yield 'a request is granted after its process was cut off';
  }
  if (line.type !== 'not granted') return;
  if (isOneOfSeveral) yield 'an acquireAll fails';
  if (line.code === 'BUSY') yield 'a try finds a lock busy';
  if (line.code === 'ACQUIRE_TIMEOUT') yield 'a request times out';
  if (line.code === 'QUORUM') yield 'a quorum fails';
}

/** A loss that is told so soon after a process goes on came while the process stood still. */
const SOON_NS = 5e6;

function* ofHold({ line, asked, ns, away }: OfRequest): Iterable<Sometimes> {
  if (line.type === 'lost') {
    yield isOfQuorum(asked) ? 'a hold of a quorum is lost' : 'a hold is lost';
    const stoodStill = away.standing.some(({ untilNs }) => Math.abs(untilNs - ns) < SOON_NS);
    if (stoodStill) yield 'a hold is lost while its process stands still';
  }
  if (line.type === 'added' && line.set === 'fenced') {
    if (line.outcome === 'fail') yield 'a fenced add is refused';
    if (line.outcome === 'unknown') yield 'an add to a fenced set has no answer';
  }
  if (line.type === 'handed over') yield line.isHanded ? 'a term is handed over' : 'a hand-over finds nobody';
}

function* ofMode({ line, asked, ns, changingNs, away }: OfRequest): Iterable<Sometimes> {
  if (line.type === 'not changed' && line.to === 'write' && line.code !== 'BUSY')
    yield 'an upgrade is given up';
  if (line.type !== 'changed') return;
  if (isOfQuorum(asked)) yield 'a hold of a quorum changes its mode';
  if (line.to === 'read') yield 'a writer becomes a reader';
  const waited = away.primary.some(({ fromNs }) => changingNs < fromNs && fromNs < ns);
  if (line.to === 'write' && waited && !isOfQuorum(asked)) yield 'an upgrade waits while there is no primary';
}
