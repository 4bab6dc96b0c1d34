import type { Lease } from '../../../src/protocol/lock-document.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import type { RunLine, WorkerLine } from '../../faults/history.js';
import { QUORUM_LOCK } from '../world/quorum-actor.js';
import type { Evidence } from '../world/world.js';
import type { Judgement } from './judge-run.js';

/** What has to happen in some runs: where it never happens, the simulation does not reach what it should. */
export const SOMETIMES = [
  'a hold is lost',
  'a hold is lost while its process stands still',
  'a lease of a process that crashed is taken over',
  'a request gets a grant that it did not wait for any more',
  'a request is asked again, because its place was over',
  'three wait for one lock',
  'several enter together in one update',
  'readers wait behind a writer',
  'an upgrade waits for other readers',
  'an upgrade waits while there is no primary',
  'an upgrade is given up',
  'a writer becomes a reader',
  'a kept seat is passed on',
  'a kept read is shared',
  'a kept seat passes while another process waits',
  'a keeper is told of a waiter',
  'a keeper is told of a waiter while it stands still',
  'a group of four or more is answered',
  'a group fails',
  'a group is never answered',
  'all locks of an acquireAll are granted',
  'an acquireAll fails',
  'a fenced add is refused',
  'an add to a fenced set has no answer',
  'a term is handed over',
  'a hand-over finds nobody',
  'a silent leader returns to its own term',
  'another candidate follows a silent leader',
  'a job runs',
  'a job is called for',
  'a call for a job is not answered in time',
  'a job misses instants',
  'a quorum grants while a deployment is away',
  'a hold of a quorum is lost',
  'a hold of a quorum changes its mode',
  'a quorum fails',
  'a try finds a lock busy',
  'a request times out',
  'a request is granted after its process was cut off',
] as const;

export type Sometimes = (typeof SOMETIMES)[number];

/** What has happened in a run. */
export function seenIn(evidence: Evidence, judgement: Judgement): ReadonlySet<Sometimes> {
  return new Set([
    ...inJournals(evidence),
    ...inDocuments(evidence, judgement),
    ...inGroups(evidence),
    ...inJobs(evidence),
  ]);
}

interface Span {
  readonly fromNs: number;
  untilNs: number;
}

/** The times of these faults, in ns. */
function spansOf(
  run: readonly RunLine[],
  begins: (line: RunLine) => boolean,
  ends: (line: RunLine) => boolean,
): readonly Span[] {
  const spans: Span[] = [];
  for (const line of run) {
    if (begins(line)) spans.push({ fromNs: Number(line.atNs), untilNs: Infinity });
    const open = spans.find(({ untilNs }) => untilNs === Infinity);
    if (ends(line) && open !== undefined) open.untilNs = Number(line.atNs);
  }
  return spans;
}

const faultSpans = (run: readonly RunLine[], ...kinds: readonly string[]): readonly Span[] =>
  spansOf(
    run,
    (line) => line.type === 'fault begins' && kinds.includes(line.what),
    (line) => line.type === 'fault ends' && kinds.includes(line.what),
  );

const stands = (run: readonly RunLine[], worker: number): readonly Span[] =>
  spansOf(
    run,
    (line) => (line.type === 'worker stands' || line.type === 'worker killed') && line.worker === worker,
    (line) => line.type === 'worker goes on' && line.worker === worker,
  );

const isIn = (spans: readonly Span[], ns: number): boolean =>
  spans.some(({ fromNs, untilNs }) => fromNs <= ns && ns <= untilNs);

type Asked = Extract<WorkerLine, { readonly type: 'asked' }>;

function* inJournals({ history }: Evidence): Iterable<Sometimes> {
  const { run } = history;
  const noPrimary = faultSpans(
    run,
    'the primary steps down',
    'the primary is cut off from the other members',
    'all members stop',
  );
  const cuts = faultSpans(run, 'a process is cut off');
  for (const [worker, lines] of history.workers.entries()) {
    const standing = stands(run, worker);
    const asks = new Map<number, Asked>();
    const changing = new Map<number, number>();
    for (const line of lines) {
      if (line.type === 'asked') asks.set(line.ask, line);
      if (!('ask' in line)) continue;
      const asked = asks.get(line.ask);
      if (asked === undefined) continue;
      const ns = Number(line.atNs);
      const isOfQuorum = asked.lock.startsWith(QUORUM_LOCK);
      if (line.type === 'changing') changing.set(line.ask, ns);
      const sinceNs = changing.get(line.ask) ?? ns;
      switch (line.type) {
        case 'lost':
          yield isOfQuorum ? 'a hold of a quorum is lost' : 'a hold is lost';
          if (standing.some(({ untilNs }) => Math.abs(untilNs - ns) < 5e6))
            yield 'a hold is lost while its process stands still';
          break;
        case 'changed':
          if (isOfQuorum) yield 'a hold of a quorum changes its mode';
          else if (line.to === 'write' && noPrimary.some((span) => sinceNs < span.fromNs && span.fromNs < ns))
            yield 'an upgrade waits while there is no primary';
          if (line.to === 'read') yield 'a writer becomes a reader';
          break;
        case 'not changed':
          if (line.to === 'write' && line.code !== 'BUSY') yield 'an upgrade is given up';
          break;
        case 'granted':
          if (asked.isOneOfSeveral === true) yield 'all locks of an acquireAll are granted';
          if (isOfQuorum && isIn(noPrimary, ns)) yield 'a quorum grants while a deployment is away';
          if (cuts.some(({ fromNs, untilNs }) => Number(asked.atNs) < fromNs && untilNs < ns))
            yield 'a request is granted after its process was cut off';
          break;
        case 'not granted':
          if (asked.isOneOfSeveral === true) yield 'an acquireAll fails';
          if (line.code === 'BUSY') yield 'a try finds a lock busy';
          if (line.code === 'ACQUIRE_TIMEOUT') yield 'a request times out';
          if (line.code === 'QUORUM') yield 'a quorum fails';
          break;
        case 'added':
          if (line.set === 'fenced' && line.outcome === 'fail') yield 'a fenced add is refused';
          if (line.set === 'fenced' && line.outcome === 'unknown')
            yield 'an add to a fenced set has no answer';
          break;
        case 'handed over':
          yield line.isHanded ? 'a term is handed over' : 'a hand-over finds nobody';
          break;
        default:
          break;
      }
    }
  }
}

function* inGroups({ commands }: Evidence): Iterable<Sometimes> {
  for (const { operations, outcome } of commands.groups) {
    if (operations < 2) continue;
    if (outcome === 'failed') yield 'a group fails';
    if (outcome === 'none') yield 'a group is never answered';
    if (outcome === 'answered' && operations >= 4) yield 'a group of four or more is answered';
  }
}

function* inJobs({ jobs }: Evidence): Iterable<Sometimes> {
  if (jobs.runs.length > 0) yield 'a job runs';
  if (jobs.calls > 0) yield 'a job is called for';
  if (jobs.troubles.some(({ code }) => code === 'JOB_NOT_STARTED'))
    yield 'a call for a job is not answered in time';
  if (jobs.missed.length > 0) yield 'a job misses instants';
}

/** Who has said in the journals that it holds which lease. */
function reported({ history }: Evidence): ReadonlySet<string> {
  return new Set(history.workers.flat().flatMap((line) => (line.type === 'granted' ? [line.id] : [])));
}

function* inDocuments(evidence: Evidence, { changes, grants }: Judgement): Iterable<Sometimes> {
  const { history, aheadMs } = evidence;
  const known = reported(evidence);
  const everQueued = new Set<string>();
  const killed = processesAt(evidence, ({ type }) => type === 'worker killed');
  const standing = history.workers.map((_, worker) => stands(history.run, worker));
  const workerOf = new Map(history.workers.map((lines, worker) => [processIn(lines), worker]));
  for (const { before, after, wallMs } of changes) {
    const [was, is] = [versionOf(before), versionOf(after)];
    const entered = is.leases.filter(({ id }) => !was.leases.some((held) => held.id === id));
    yield* ofQueue(was, is, everQueued);
    if (entered.length > 1) yield 'several enter together in one update';
    const gone = was.leases.filter(({ id }) => !is.leases.some((held) => held.id === id));
    if (entered.length > 0 && gone.some(({ process }) => killed.has(process)))
      yield 'a lease of a process that crashed is taken over';
    yield* ofSilentLeader(gone, entered, wallMs);
    for (const { id, process, keeps } of is.leases) {
      if (keeps === undefined || !is.wake.includes(` ${process}:${id}:-1`)) continue;
      yield 'a keeper is told of a waiter';
      const spans = standing[workerOf.get(process) ?? -1] ?? [];
      if (isIn(spans, (wallMs - aheadMs) * 1e6)) yield 'a keeper is told of a waiter while it stands still';
    }
  }
  // A grant of a lock that no caller was told of: its request had given up, or its process was gone.
  if (grants.some(({ id, candidateId }) => candidateId === undefined && !known.has(id))) {
    yield 'a request gets a grant that it did not wait for any more';
  }
  yield* ofKeptSeats(evidence, { changes, grants });
}

function* ofQueue(was: Version, is: Version, everQueued: Set<string>): Iterable<Sometimes> {
  if (is.queue.length >= 3) yield 'three wait for one lock';
  const modes = is.queue.map(([, { mode }]) => mode);
  const writer = modes.indexOf('write');
  if (writer >= 0 && modes.lastIndexOf('read') > writer) yield 'readers wait behind a writer';
  if (is.leases.some(({ upgrading }) => upgrading === true)) yield 'an upgrade waits for other readers';
  for (const [id] of is.queue) {
    const isNew = !was.queue.some(([other]) => other === id);
    if (isNew && everQueued.has(id)) yield 'a request is asked again, because its place was over';
    everQueued.add(id);
  }
}

function* ofSilentLeader(
  gone: readonly Lease[],
  entered: readonly Lease[],
  wallMs: number,
): Iterable<Sometimes> {
  const [leader] = gone;
  const [next] = entered;
  if (leader?.candidateId === undefined || next?.candidateId === undefined) return;
  const { expiresAt, transitionMs = 0, candidateId } = leader;
  if (expiresAt.getTime() - transitionMs > wallMs) return;
  yield candidateId === next.candidateId
    ? 'a silent leader returns to its own term'
    : 'another candidate follows a silent leader';
}

/** Grants that a process gave to its own callers, without a command. */
function* ofKeptSeats(
  { history, aheadMs }: Evidence,
  { changes, grants }: Pick<Judgement, 'changes' | 'grants'>,
): Iterable<Sometimes> {
  const byId = new Map(grants.map((grant) => [grant.id, grant]));
  const queues = waitsIn(changes);
  for (const lines of history.workers) {
    const seen = new Set<string>();
    const asks = new Map<number, Asked>();
    const process = processIn(lines);
    for (const line of lines) {
      if (line.type === 'asked') asks.set(line.ask, line);
      if (line.type !== 'granted') continue;
      const asked = asks.get(line.ask);
      const grant = byId.get(line.id);
      const isAgain = seen.has(line.id);
      seen.add(line.id);
      if (!isAgain || grant === undefined || asked === undefined) continue;
      if (asked.seat.kind === 'reader-writer' && asked.seat.mode === 'read') yield 'a kept read is shared';
      if (line.token === grant.token) continue;
      yield 'a kept seat is passed on';
      const atMs = Number(line.atNs) / 1e6 + aheadMs;
      const isWaitedFor = queues.some(
        ({ name, processes, fromMs, untilMs }) =>
          name === asked.lock &&
          fromMs < atMs &&
          atMs < untilMs &&
          processes.some((other) => other !== process),
      );
      if (isWaitedFor) yield 'a kept seat passes while another process waits';
    }
  }
}

interface Waiting {
  readonly name: string;
  readonly processes: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Between two versions of a lock the same processes wait for it. */
function waitsIn(changes: Judgement['changes']): readonly Waiting[] {
  const last = new Map<string, Omit<Waiting, 'untilMs'>>();
  return changes.flatMap(({ name, after, wallMs }) => {
    const before = last.get(name);
    const processes = versionOf(after).queue.map(([, { process }]) => process);
    last.set(name, { name, processes, fromMs: wallMs });
    return before === undefined || before.processes.length === 0 ? [] : [{ ...before, untilMs: wallMs }];
  });
}

const processIn = (lines: readonly WorkerLine[]): string => {
  const [first] = lines;
  return first?.type === 'started' ? first.process : '';
};

function processesAt({ history }: Evidence, is: (line: RunLine) => boolean): ReadonlySet<string> {
  const workers = history.run.flatMap((line) => (is(line) && 'worker' in line ? [line.worker] : []));
  return new Set(workers.map((worker) => processIn(history.workers[worker] ?? [])));
}
