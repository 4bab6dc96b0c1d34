import type { History, WorkerLine } from '../../faults/history.js';
import type { Evidence } from '../world/world.js';

/** One call of an operator. Times are in ms of the journals' clock. */
export interface OperatorCall {
  readonly worker: number;
  /** As leases and records of revocations name its process. */
  readonly process: string;
  readonly does: 'ask' | 'evict' | 'resize';
  readonly lock: string;
  /** The only hold that a revocation means. `undefined`: all holds. */
  readonly id: string | undefined;
  /** What a revocation tells the holders. */
  readonly why: string | undefined;
  /** The limit that a resize asks for. */
  readonly limit: number | undefined;
  readonly fromMs: number;
  /** `undefined`: the call was never answered, because its process crashed. */
  answer?: OperatorAnswer;
}

interface OperatorAnswer {
  readonly atMs: number;
  readonly isDone: boolean;
  /** The code with which the call failed. */
  readonly code?: string;
  readonly asked: readonly string[];
  readonly gone: readonly string[];
  readonly evicted: readonly string[];
}

export const callsIn = ({ history }: Evidence): readonly OperatorCall[] =>
  history.workers.flatMap((lines, worker) => [...callsOf(lines, worker)]);

function* callsOf(lines: History['workers'][number], worker: number): Iterable<OperatorCall> {
  const calls = new Map<number, OperatorCall>();
  let process = '';
  for (const line of lines) {
    if (line.type === 'started') ({ process } = line);
    if (line.type === 'revoking') {
      const { lock, id, why, isForced } = line;
      const call = { worker, process, lock, id, why, limit: undefined, fromMs: msOf(line) };
      calls.set(line.call, { ...call, does: isForced ? 'evict' : 'ask' });
    } else if (line.type === 'resizing') {
      const { lock, limit } = line;
      const call = { worker, process, lock, id: undefined, why: undefined, limit, fromMs: msOf(line) };
      calls.set(line.call, { ...call, does: 'resize' });
    } else if ('call' in line) {
      const call = calls.get(line.call);
      if (call !== undefined) call.answer = answerIn(line);
    }
  }
  yield* calls.values();
}

function answerIn(line: WorkerLine): OperatorAnswer {
  const nothing = { asked: [], gone: [], evicted: [] };
  if (line.type === 'call failed') return { atMs: msOf(line), isDone: false, code: line.code, ...nothing };
  if (line.type !== 'revoked') return { atMs: msOf(line), isDone: true, ...nothing };
  const { asked, gone, evicted } = line;
  return { atMs: msOf(line), isDone: true, asked, gone, evicted };
}

export const msOf = ({ atNs }: Pick<WorkerLine, 'atNs'>): number => Number(atNs) / 1e6;
