import type { Lease } from '../../../src/protocol/lock-document.js';
import { readWake, readWakeWords } from '../../../src/protocol/wake.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import type { RunLine, WorkerLine } from '../../faults/history.js';
import type { Evidence } from '../world/world.js';
import type { Judgement } from './judge-run.js';
import { inJournals } from './seen-in-journals.js';
import { ofOperators } from './seen-of-operators.js';
import { ofOtherFaults } from './seen-of-other-faults.js';
import type { Sometimes } from './sometimes-list.js';
import { isIn, stands } from './spans.js';
import { versionOf } from './parsed-versions.js';

/** What has happened in a run. */
export function seenIn(evidence: Evidence, judgement: Judgement): ReadonlySet<Sometimes> {
  return new Set([
    ...inJournals(evidence),
    ...inDocuments(evidence, judgement),
    ...inGroups(evidence),
    ...inStreams(evidence),
    ...inJobs(evidence),
    ...ofOperators(evidence, judgement),
    ...ofOtherFaults(evidence, judgement),
  ]);
}

function* inGroups({ commands }: Evidence): Iterable<Sometimes> {
  for (const { operations, outcome } of commands.groups) {
    if (operations < 2) continue;
    if (outcome === 'failed') yield 'a group fails';
    if (outcome === 'answered' && operations >= 4) yield 'a group of four or more is answered';
  }
}

/** An event tells of a grant that its process knows already, for example by the answer to a look. */
function* inStreams({ history, shown, aheadMs }: Evidence): Iterable<Sometimes> {
  const knownMs = history.workers.map((lines) => grantsIn(lines, aheadMs));
  for (const { worker = -1, wake, atMs } of shown) {
    const process = processIn(history.workers[worker] ?? []);
    for (const { id, token } of readWakeWords(process, readWake(wake))) {
      const known = knownMs[worker]?.get(`${id} ${token}`) ?? Infinity;
      if (known + 1 < atMs) yield 'a grant is heard twice';
    }
  }
}

/** When the process with these lines has told a caller of each grant, by the wall clock. */
const grantsIn = (lines: readonly WorkerLine[], aheadMs: number): ReadonlyMap<string, number> => {
  const ids = new Map(lines.flatMap((line) => (line.type === 'granted' ? [[line.ask, line.id]] : [])));
  return new Map(
    lines.flatMap((line) =>
      line.type === 'granted' || line.type === 'changed'
        ? [[`${ids.get(line.ask) ?? ''} ${line.token}`, Number(line.atNs) / 1e6 + aheadMs]]
        : [],
    ),
  );
};

function* inJobs({ jobs }: Evidence): Iterable<Sometimes> {
  if (jobs.runs.length > 0) yield 'a job runs';
  if (jobs.runs.length > 0 && jobs.schedule === 'cron') yield 'a job runs by cron';
  if (jobs.runs.length > 0 && jobs.schedule === 'fixed-delay') yield 'a job runs with a fixed delay';
  if (jobs.calls.length > 0) yield 'a job is called for';
  if (jobs.missed.length > 0) yield 'a job misses instants';
}

/** The ids of the leases whose grants are in the journals. */
function reported({ history }: Evidence): ReadonlySet<string> {
  return new Set(history.workers.flat().flatMap((line) => (line.type === 'granted' ? [line.id] : [])));
}

function* inDocuments(evidence: Evidence, { changes, grants }: Judgement): Iterable<Sometimes> {
  const { history, aheadMs } = evidence;
  const known = reported(evidence);
  const killed = processesAt(evidence, ({ type }) => type === 'worker killed');
  const standing = history.workers.map((_, worker) => stands(history.run, worker));
  const workerOf = new Map(history.workers.map((lines, worker) => [processIn(lines), worker]));
  for (const { before, after, wallMs } of changes) {
    const [was, is] = [versionOf(before), versionOf(after)];
    const entered = is.leases.filter(({ id }) => !was.leases.some((held) => held.id === id));
    yield* ofQueue(is);
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

function* ofQueue(is: Version): Iterable<Sometimes> {
  if (is.queue.length >= 3) yield 'three wait for one lock';
  const modes = is.queue.map(([, { mode }]) => mode);
  const writer = modes.indexOf('write');
  if (writer >= 0 && modes.lastIndexOf('read') > writer) yield 'readers wait behind a writer';
  if (is.leases.some(({ upgrading }) => upgrading === true)) yield 'an upgrade waits for other readers';
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

type Asked = Extract<WorkerLine, { readonly type: 'asked' }>;

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
